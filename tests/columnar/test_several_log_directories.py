"""A commit log in several directories, as a real broker wrote it: each verb with and without the directories' names."""

import shutil
import subprocess
from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.describe import digest, store_digest
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit as report
from rocket_columnar.restart import restart
from rocket_columnar.store import find_files
from rocket_golden import open_store
from rocket_spec.errors import UsageError

NAMES = ("commitlog-a", "commitlog-b", "commitlog-c")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store("many-paths", tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def commitlog(store: Path) -> list[Path]:
    return [store / name for name in NAMES]


def test_directories_outside_the_store_keep_their_own_names(store: Path, tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copytree(store / name, tmp_path / "disk" / name)
    shutil.copytree(store, tmp_path / "store", ignore=shutil.ignore_patterns("commitlog-*"))
    disks = [tmp_path / "disk" / name for name in NAMES]
    files = find_files(tmp_path / "store", "log", commitlog=disks)
    assert files[0].name == f"{tmp_path}/disk/commitlog-a/{0:020}"
    assert list(audit(tmp_path / "store", "deep", commitlog=disks)) == []


def test_without_the_directories_nothing_is_called_damage_but_the_missing_log(store: Path) -> None:
    (found,) = audit(store, "deep")
    assert (found.code, found.file) == ("log.gap", "commitlog")
    assert "--commitlog" in found.message
    assert "--commitlog" in found.cure


def test_nothing_is_written_into_a_directory_that_is_read(
    store: Path, commitlog: list[Path], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(commitlog[0], disk)
    with pytest.raises(UsageError, match="inside the store"):
        rebuild(store, disk / "new", commitlog=[disk, *commitlog[1:]])
    assert not (disk / "new").exists()


def test_the_digest_is_that_of_the_log_in_one_directory(
    store: Path, commitlog: list[Path], tmp_path: Path
) -> None:
    shutil.copytree(store, tmp_path / "one", ignore=shutil.ignore_patterns("commitlog-*"))
    (tmp_path / "one/commitlog").mkdir()
    for folder in commitlog:
        for path in folder.iterdir():
            shutil.copy(path, tmp_path / "one/commitlog")
    several = store_digest(list(digest(store, commitlog=commitlog)))
    assert several == store_digest(list(digest(tmp_path / "one")))


LAST = f"commitlog-b/{24576:020}"
NEXT = f"commitlog-b/{28672:020}"


@pytest.mark.parametrize(
    ("name", "zeros", "harms", "text"),
    [
        (f"commitlog-b/{4096:020}", False, False, "the same bytes"),
        (f"commitlog-b/{4096:020}", True, True, "other bytes"),
        (LAST, False, True, "consumers get none"),
        (LAST, True, True, "consumers get none"),
        (NEXT, True, False, "a start deletes both"),
    ],
)
def test_one_log_file_in_two_directories(
    store: Path, tmp_path: Path, name: str, *, zeros: bool, harms: bool, text: str
) -> None:
    """STORE-17: 4.9.3 maps both. The real broker gave out 120 of 120 messages with equal copies, and 71 or 120 with one of zeros.

    Of 69 messages that it stored beside a copy of the last file consumers got none, beside one of another file all.
    """
    path = Path(shutil.copytree(store, tmp_path / "store"))
    folders = [path / folder.name for folder in sorted(store.glob("commitlog-*"))]
    if name == NEXT:
        (path / name).write_bytes(bytes(4096))
    second = path / "commitlog-a" / (path / name).name
    second.write_bytes(bytes(4096) if zeros else (path / name).read_bytes())
    (found,) = audit(path, commitlog=folders)
    assert (found.severity == "error", text in found.message) == (harms, True)
    assert (path / found.file).read_bytes() == second.read_bytes()
    assert restart(path, commitlog=folders).safe == (not harms)
    if harms:
        (cause,) = report(path, commitlog=folders).causes
        subprocess.run(["sh", "-c", "\n".join(cause.commands)], cwd=tmp_path, check=True)
        assert list(audit(path, commitlog=folders)) == []
    if name != NEXT:
        own = [store / folder.name for folder in folders]
        kept = store_digest(list(digest(path, commitlog=folders)))
        assert kept == store_digest(list(digest(store, commitlog=own)))


@pytest.mark.parametrize(("kept", "named"), [("commitlog-a", True), ("damaged-store-20261126-114500", False)])
def test_a_directory_that_the_configuration_lacks(
    store: Path, tmp_path: Path, kept: str, *, named: bool
) -> None:
    """What a cure moved away is none; one of the configured directories may be missing, with the one above it."""
    path = Path(shutil.copytree(store, tmp_path / "store"))
    (path / "commitlog-a").rename(path / kept)
    logs = [path / "commitlog-b", path / "commitlog-c"]
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathCommitLog={','.join(map(str, (*logs, tmp_path / 'gone' / 'log')))}\n")
    settings = [dict(one.settings) for one in report(path, conf=conf, commitlog=logs) if one.settings]
    added = [str(one["storePathCommitLog"]) for one in settings if "storePathCommitLog" in one]
    assert [text.split(",")[-1] for text in added] == ([str(path / kept)] if named else [])


@pytest.mark.parametrize("emptied", [True, False])
def test_a_directory_whose_disk_is_not_mounted(store: Path, tmp_path: Path, *, emptied: bool) -> None:
    """It is empty, as a mount point is, or not there: nothing is lost, and nothing is to be copied or repaired."""
    path = Path(shutil.copytree(store, tmp_path / "store"))
    shutil.move(path / "commitlog-b", tmp_path / "disk")
    if emptied:
        (path / "commitlog-b").mkdir()
    conf = tmp_path / "broker.conf"
    conf.write_text(
        f"storePathRootDir={path}\nstorePathCommitLog={','.join(str(path / name) for name in NAMES)}\n"
    )
    given = [path / name for name in NAMES if (path / name).is_dir()]
    cause = report(path, conf=conf, commitlog=given).causes[0]
    assert cause.title == "a directory of the commit log is not mounted: its messages are not lost"
    assert [root.file for root in cause.roots] == [str(path / "commitlog-b")]
    assert {"log.gap", "queue.dangling"} <= set(cause.counts())
    assert cause.commands == ()
    shutil.rmtree(path / "commitlog-b", ignore_errors=True)
    shutil.move(tmp_path / "disk", path / "commitlog-b")
    mounted = report(path, conf=conf, commitlog=[path / name for name in NAMES])
    assert not [one for one in mounted if one.remedy != "settings"]
