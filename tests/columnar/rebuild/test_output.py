"""What a rebuild leaves in its directory: everything and a manifest, or nothing."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rocket_columnar.rebuild import MANIFEST, rebuild
from rocket_golden import open_store
from rocket_spec.errors import UsageError


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return open_store("small-roll", tmp_path / "golden")


def test_the_manifest_lists_every_file_with_its_length(store: Path, tmp_path: Path) -> None:
    done = rebuild(store, tmp_path / "new")
    manifest = json.loads((tmp_path / "new" / MANIFEST).read_text("utf-8"))
    assert [file["path"] for file in manifest["files"]] == list(done.files)
    assert all(
        (tmp_path / "new" / file["path"]).stat().st_size == file["bytes"] for file in manifest["files"]
    )
    with pytest.raises(UsageError, match="already exists"):
        rebuild(store, tmp_path / "new")


def child(store: Path, out: Path, patch: str) -> subprocess.Popen[bytes]:
    code = f"""
import os, pathlib, signal, sys
from rocket_columnar.rebuild import rebuild
{patch}
rebuild({str(store)!r}, {str(out)!r})
"""
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)


_RENAME = """
rename = pathlib.Path.rename
def stop(self, target):
    if {when}:
        {how}
    return rename(self, target)
pathlib.Path.rename = stop
"""
_KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    "when", ["self.name == 'index'", "self.name == 'consumequeue'", f"self.name == {MANIFEST!r}"]
)
def test_a_rebuild_killed_between_its_renames_is_swept_by_the_next(
    when: str, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new"
    killed = child(store, out, _RENAME.format(when=when, how=_KILL))
    assert (killed.communicate()[1], killed.returncode) == (b"", -signal.SIGKILL)
    assert not (out / MANIFEST).exists()
    assert any(path.name.startswith(".rebuild-") for path in out.iterdir())
    done = rebuild(store, out)
    assert {path.name for path in out.iterdir()} == {"index", "consumequeue", MANIFEST}
    assert all((out / name).is_file() for name in done.files)


def test_an_error_between_the_renames_leaves_nothing(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.name == "consumequeue":
            raise OSError(28, "No space left on device", str(target))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="No space left"):
        rebuild(store, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_a_live_rebuild_writes_is_not_swept(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "new"
    how = "sys.stderr.write('.'); sys.stderr.flush(); sys.stdin.read()"
    code = _RENAME.format(when="self.name == 'index'", how=how)
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import os, pathlib, signal, sys\nfrom rocket_columnar.rebuild import rebuild\n{code}\nrebuild({str(store)!r}, {str(out)!r})",
        ],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as live:
        assert live.stderr is not None
        assert live.stderr.read(1) == b"."
        (staging,) = out.iterdir()
        rebuild(store, tmp_path / "new", only_missing=True)
        assert staging.is_dir()
        live.communicate()


@pytest.mark.parametrize("limit", [100, 1000])
def test_a_full_disk_ends_in_one_error_and_leaves_nothing(limit: int, store: Path, tmp_path: Path) -> None:
    """A limit on the length of files stands for the disk: writes fail, and a mapping would end in SIGBUS."""
    out = tmp_path / "new"

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-m", "rocketspec", "rebuild", str(store), "-o", str(out)],
        preexec_fn=limited,
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stderr) == (3, f"rocketspec: {out}: file too large\n")
    assert not out.exists()
