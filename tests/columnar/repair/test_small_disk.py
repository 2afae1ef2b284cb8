"""A repair on a disk that is full, at each size from nothing to success: one line, exit 3, and the store as it was."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from rocket_golden import open_store

SCRIPT: Final = Path(__file__).parents[2] / "support" / "small_disk.py"


def runs(folder: Path, limit: str, step: int) -> list[dict[str, Any]]:
    """Of repairs of a small store with a damaged index file, a cut queue file, and one that is gone."""
    store = open_store("small-roll", folder).rename(folder / "store")
    (store / "lock").touch()
    index = min((store / "index").iterdir())
    index.write_bytes(index.read_bytes()[:50].ljust(index.stat().st_size, b"\x7f"))
    first, *_, last = sorted((store / "consumequeue").rglob("0??*"))
    os.truncate(first, 40)
    last.unlink()
    work = [sys.executable, str(SCRIPT), limit, str(folder), str(step), "repair", "--apply"]
    private = (
        ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    )
    done = subprocess.run([*private, *work], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("limit", "step"),
    [
        ("bytes", 25 << 10),
        ("inodes", 9),
        pytest.param("bytes", 5 << 10, marks=pytest.mark.soak),
        pytest.param("inodes", 1, marks=pytest.mark.soak),
    ],
)
def test_a_repair_on_a_small_disk(tmp_path: Path, limit: str, step: int) -> None:
    *failed, repaired, undone = runs(tmp_path, limit, step)
    assert len(failed) > 3
    for run in failed:
        assert run["status"] == 3, run
        assert run["errors"].count("\n") == 1, run
        assert "no space left on device" in run["errors"], run
        assert (run["kept"], run["litter"]) == (True, []), run
    assert (repaired["status"], repaired["errors"], len(repaired["litter"])) == (0, "", 1)
    assert undone == {"undo": 0, "errors": "", "kept": True}, "an undo needs no free space"
