"""A repair on a disk that is full, at each size from nothing to success: one line, exit 3, and the store as it was."""

import os
from pathlib import Path

import pytest
from limited_disk import run_on_disks
from rocket_golden import open_store

FULL = "no space left on device"
LIMITS = [
    pytest.param("size", range(0, 10_000, 75), FULL, id="room"),
    pytest.param("nr_inodes", range(0, 4_000, 23), FULL, id="inodes"),
    pytest.param("files", range(8, 200, 9), "too many open files", id="descriptors"),
    pytest.param("size", range(0, 10_000, 5), FULL, id="room, small steps", marks=pytest.mark.soak),
    pytest.param("nr_inodes", range(4_000), FULL, id="inodes, one by one", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("option", "limits", "reason"), LIMITS)
def test_a_repair_on_a_small_disk(tmp_path: Path, option: str, limits: range, reason: str) -> None:
    """Of a small store with a damaged index file, a cut queue file, and one that is gone."""
    store, disk = open_store("small-roll", tmp_path), tmp_path / "disk"
    (store / "lock").touch()
    index = min((store / "index").iterdir())
    index.write_bytes(index.read_bytes()[:50].ljust(index.stat().st_size, b"\x7f"))
    first, *_, last = sorted((store / "consumequeue").rglob("0??*"))
    os.truncate(first, 40)
    last.unlink()
    on_disk = disk / "store"
    undo = ["repair", on_disk, "--undo"]
    *failed, repaired, undone = run_on_disks(
        disk, option, limits, "repair", on_disk, "--apply", store=store, then=undo
    )
    assert len(failed) > 3
    for run in failed:
        assert (run.code, run.out, run.left) == (3, "", []), run
        assert run.err.count("\n") == 1, run
        assert reason in run.err, run
    assert (repaired.code, repaired.err) == (0, "")
    assert len({name.split("/")[1] for name in repaired.left if "/rocketspec-repair-" in name}) == 1
    assert (undone.code, undone.err, undone.left) == (0, "", []), "an undo needs no free space"
