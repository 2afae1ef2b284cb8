"""What a rebuild leaves in its directory: everything and a manifest, or nothing."""

import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from rocket_columnar.rebuild import MANIFEST, rebuild
from rocket_golden import open_store
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from store_bytes import contents


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


MOVED: Final = frozenset({"index", "consumequeue", MANIFEST})
_RENAMES: Final = 7
"""Renames of a forced rebuild into a directory that has index/, consumequeue/ and a manifest; one to spare."""


def killed_at(rename_number: int, store: Path, out: Path) -> bool:
    """Replaces the output of a rebuild in a process that is killed before one of its renames; whether it was."""
    child = os.fork()
    if not child:  # pragma: no cover
        rename, numbers = Path.rename, itertools.count()

        def stop(path: Path, target: Path) -> Path:
            if out in target.parents and MOVED.intersection({path.name}) and next(numbers) == rename_number:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(path, target)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "rename", stop)
            rebuild(store, out, force=True)
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


@pytest.mark.parametrize("number", range(_RENAMES))
def test_a_forced_rebuild_killed_at_a_rename_leaves_the_old_or_the_new_files(
    number: int, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    rebuild(store, out, geometry=Geometry(7, 50))
    old = contents(out)
    rebuild(store, tmp_path / "fresh")
    new = contents(tmp_path / "fresh")
    killed = killed_at(number, store, out)
    assert killed == (number < _RENAMES - 1)
    with pytest.raises(UsageError, match="already exists"):  # the next run settles the killed one first
        rebuild(store, out)
    assert contents(out) == (old if killed else new)


@pytest.mark.parametrize("number", range(4))
def test_a_first_rebuild_killed_at_a_rename_is_swept_by_the_next(
    number: int, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    killed = killed_at(number, store, out)
    assert killed == (number < 3)
    assert (out / MANIFEST).exists() != killed
    done = rebuild(store, out, force=not killed)
    assert {path.name for path in out.iterdir()} == {"index", "consumequeue", MANIFEST}
    assert all((out / name).is_file() for name in done.files)


def test_a_forced_rebuild_killed_while_it_reads_leaves_the_old_files(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rebuild(store, out)
    old = contents(out)
    child = os.fork()
    if not child:  # pragma: no cover
        rebuild(store, out, force=True, on_progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert all((out / name).read_bytes() == held for name, held in old.items())
    rebuild(store, out, force=True)
    assert contents(out) == old


def test_a_failure_between_the_renames_gives_the_old_files_back(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    rebuild(store, out, geometry=Geometry(7, 50))
    old = contents(out)
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.name == "consumequeue" and target.parent == out and path.parent.name != "earlier":
            raise OSError(28, "No space left on device", str(target))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="No space left"):
        rebuild(store, out, force=True)
    assert contents(out) == old


def planted(directory: Path, index: Path) -> Path:
    """The remains of a killed rebuild: a staging directory whose parts were being put in place."""
    staging = directory / ".rebuild-planted"
    (staging / "earlier" / "index").mkdir(parents=True)
    (staging / MANIFEST).write_text("{}", "utf-8")
    (staging / "placing").touch()
    stat = index.stat()
    state = {"index": [stat.st_dev, stat.st_ino]}
    (staging / "rocketspec-rebuild.json").write_text(json.dumps(state), "utf-8")
    return staging


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("place", [".", "index", "consumequeue/new", "new", ".."])
def test_an_output_in_or_around_a_store_is_refused_before_anything_is_swept(
    store: Path, tmp_path: Path, place: str, *, force: bool
) -> None:
    other = tmp_path / "others" / "other"
    shutil.copytree(store, other)
    directory = other / place
    if directory.exists():
        planted(directory.resolve(), other / "index")
    before = contents(other.parent)
    with pytest.raises(UsageError, match="store"):
        rebuild(store, directory, force=force)
    assert contents(other.parent) == before


@pytest.mark.parametrize("mark", ["checkpoint", "abort", "lock", "config", "dledger-n0/data/0"])
def test_whatever_marks_a_store_has_it_refused(mark: str, store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / mark).parent.mkdir(parents=True)
    (other / mark).touch()
    rebuild(store, tmp_path / "out")
    (tmp_path / "out" / "index").rename(other / "index")
    planted(other, other / "index")
    before = contents(other)
    with pytest.raises(UsageError, match="store"):
        rebuild(store, other, force=True)
    assert contents(other) == before


def test_a_directory_with_a_folder_config_is_not_a_store_yet(store: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "config").mkdir(parents=True)
    rebuild(store, tmp_path / "out")
    assert (tmp_path / "out" / MANIFEST).exists()


def test_files_that_no_rebuild_wrote_are_not_replaced(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(store / "index", out / "index")
    before = contents(out)
    with pytest.raises(UsageError, match="not written by a rebuild; refusing to replace it"):
        rebuild(store, out, force=True)
    (out / ".rebuild-of-mine").mkdir()
    (out / ".rebuild-of-mine" / "notes").touch()
    with pytest.raises(UsageError, match="already exists"):
        rebuild(store, out)
    assert contents(out) == {**before, ".rebuild-of-mine/notes": b""}


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
    begun, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover

        def wait(*_: int) -> None:
            os.write(begun[1], b".")
            os.read(go_on[0], 1)

        with pytest.raises(UsageError, match="already exists"):
            rebuild(store, out, on_progress=wait)
        os._exit(0)
    assert os.read(begun[0], 1) == b"."
    (staging,) = out.iterdir()
    done = rebuild(store, out)
    assert staging.is_dir()
    os.write(go_on[1], b"." * 100)
    assert os.waitpid(child, 0)[1] == 0
    assert {path.name for path in out.iterdir()} == {"index", "consumequeue", MANIFEST}
    assert all((out / name).is_file() for name in done.files)


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
