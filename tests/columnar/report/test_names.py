"""Files under names that are not their own, and queues of another store: the first cause, and a cure that makes it whole."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from rocket_columnar.report import FindingGroup, audit
from rocket_columnar.restart import restart
from rocket_golden import open_store, truth

SECOND, THIRD = f"commitlog/{1 << 15:020}", f"commitlog/{1 << 16:020}"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return open_store("mixed", tmp_path)


def first_cause(store: Path) -> FindingGroup:
    return audit(store).causes[0]


def run(cause: FindingGroup, folder: Path) -> None:
    subprocess.run(["sh", "-c", "\n".join(cause.commands)], cwd=folder, check=True)


def test_two_log_files_with_each_others_names(mixed: Path, tmp_path: Path) -> None:
    """Both files state the other's physical offset; nothing is lost once they have their names back."""
    one, two = mixed / SECOND, mixed / THIRD
    content = one.read_bytes(), two.read_bytes()
    one.rename(tmp_path / "third")
    two.rename(one)
    (tmp_path / "third").rename(two)
    cause = first_cause(mixed)
    assert {root.file for root in cause.roots} == {SECOND, THIRD}
    assert not cause.other_commands
    run(cause, tmp_path)
    assert (one.read_bytes(), two.read_bytes()) == content
    assert not audit(mixed).causes


@pytest.mark.parametrize("name", [".{}.AbC123", "{}.bak"])
def test_a_log_file_that_a_copy_left_under_another_name(name: str, mixed: Path, tmp_path: Path) -> None:
    file = mixed / SECOND
    content = file.read_bytes()
    file.rename(file.with_name(name.format(file.name)))
    run(first_cause(mixed), tmp_path)
    assert file.read_bytes() == content
    assert not audit(mixed).causes


def test_a_part_of_a_log_file_does_not_get_its_name(mixed: Path) -> None:
    """A broker refuses a file of another length (`MappedFileQueue.doLoad`)."""
    file = mixed / SECOND
    part = file.rename(file.with_name(f".{file.name}.AbC123"))
    part.write_bytes(part.read_bytes()[:20_000])
    assert not any(
        "mv " in line and part.name in line for cause in audit(mixed).causes for line in cause.commands
    )


def test_queues_of_another_store(mixed: Path, tmp_path: Path) -> None:
    """The index knows the log's records, so that the log is not accused."""
    shutil.rmtree(mixed / "consumequeue")
    shutil.copytree(open_store("small-roll", tmp_path) / "consumequeue", mixed / "consumequeue")
    causes = audit(mixed).causes
    (root,) = causes[0].roots
    assert (root.code, root.file) == ("queue.wrong_target", "consumequeue")
    assert {one.remedy for one in causes[0].consequences} == {"queues"}
    assert not any(one.code.startswith("log.") for cause in causes for one in cause.findings)


@pytest.mark.parametrize("name", [SECOND, f"commitlog/{3 << 15:020}"])
@pytest.mark.parametrize("more", [b"x", bytes(4096), b"x" * 300])
def test_a_log_file_with_bytes_after_its_end(name: str, more: bytes, mixed: Path, tmp_path: Path) -> None:
    """A broker never reads them, and refuses to start (`MappedFileQueue.doLoad`); the last file ends in zeros."""
    file = mixed / name
    content = file.read_bytes()
    file.write_bytes(content + more)
    (cause,) = audit(mixed).causes
    assert [(root.code, root.file, root.offset) for root in cause.findings] == [("log.length", name, 32_768)]
    run(cause, tmp_path)
    assert file.read_bytes() == content
    (kept,) = tmp_path.glob("resized-*/*")
    assert kept.read_bytes() == content + more


@pytest.mark.parametrize("names", [[f"{number << 15:020}" for number in range(4)], [f"{3 << 15:020}"]])
def test_log_files_that_lack_only_their_zeros(names: list[str], mixed: Path, tmp_path: Path) -> None:
    """As from an archive that drops them: the last record or the blank is whole, and no message is lost."""
    files = [mixed / "commitlog" / name for name in names]
    content = [file.read_bytes() for file in files]
    for file, data in zip(files, content, strict=True):
        file.write_bytes(data.rstrip(b"\0"))
    (cause,) = audit(mixed).causes
    assert ("no message is lost" in cause.title, len(cause.roots)) == (True, len(files))
    run(cause, tmp_path)
    assert [file.read_bytes() for file in files] == content


def test_a_log_file_that_lacks_its_last_records(mixed: Path) -> None:
    """It ends between two of them, as one that lacks zeros does; but index and queues refer to later ones."""
    end = sorted(line["phy_offset"] for line in truth("mixed") if line["type"] == "log_record")[-3]
    os.truncate(mixed / f"commitlog/{3 << 15:020}", end % (1 << 15))
    assert not any("no message is lost" in cause.title for cause in audit(mixed).causes)


def test_a_folder_beside_has_the_end_of_the_log_only_if_it_goes_on(mixed: Path, tmp_path: Path) -> None:
    last = mixed / f"commitlog/{3 << 15:020}"
    last.rename(tmp_path / "kept")
    shutil.copytree(mixed / "commitlog", tmp_path / "copy")
    assert not any("is in another folder" in cause.title for cause in audit(mixed).causes)
    (tmp_path / "kept").rename(tmp_path / "copy" / last.name)
    cause = first_cause(mixed)
    assert "is in another folder" in cause.title
    run(cause, tmp_path)
    assert [one for one in audit(mixed) if one.severity != "note"] == []


def test_a_log_file_of_zeros_far_after_the_end(mixed: Path) -> None:
    """A start deletes it (`MappedFileQueue.truncateDirtyFiles`), and the real broker delivers all (docs/broken-stores.md)."""
    name = f"commitlog/{10 << 15:020}"
    (mixed / name).write_bytes(bytes(1 << 15))
    (found,) = audit(mixed)
    assert (found.severity, found.file) == ("note", name)
    start = restart(mixed)
    assert (start.safe, [one.file for one in start.deletions]) == (True, [name])


@pytest.mark.parametrize(
    ("place", "starts"),
    [
        (SECOND, False),
        (f"consumequeue/Orders/0/{0:020}", False),
        ("index/20261121132605989", True),
        ("commitlog", True),
        ("consumequeue", True),
        ("index", True),
    ],
)
def test_a_link_that_leads_to_nothing(place: str, mixed: Path, tmp_path: Path, *, starts: bool) -> None:
    """The real broker does not start on the first two, and starts on the others; a repair refuses links."""
    path = mixed / place
    path.rename(tmp_path / "disk")
    path.symlink_to(tmp_path / "mnt")
    cause, *others = audit(mixed).causes
    (root,) = cause.roots
    assert (root.file, root.severity, str(tmp_path / "mnt") in root.message) == (place, "error", True)
    assert (cause.commands, "mount or restore" in cause.cure, others) == ((), True, [])
    start = restart(mixed)
    assert (start.refused is None, start.safe) == (starts, False)
    (tmp_path / "mnt").symlink_to(tmp_path / "disk")
    assert not any(one.severity != "note" for one in audit(mixed))


@pytest.mark.parametrize("folder", ["commitlog", "consumequeue", "index"])
def test_a_file_in_the_place_of_a_folder(folder: str, mixed: Path) -> None:
    """The real broker starts, makes no file there, and delivers no message that comes after."""
    shutil.rmtree(mixed / folder)
    (mixed / folder).touch()
    start = restart(mixed)
    assert (start.refused, start.safe, start.blocked[0].split()[0]) == (None, False, folder)
    cause = first_cause(mixed)
    assert any((root.file, root.severity) == (folder, "error") for root in cause.roots)
    assert any(command.startswith("mv ") and folder in command for command in cause.commands)


def test_the_index_of_another_store(mixed: Path, tmp_path: Path) -> None:
    shutil.rmtree(mixed / "index")
    shutil.copytree(open_store("small-roll", tmp_path) / "index", mixed / "index")
    causes = [cause for cause in audit(mixed).causes if any(one.remedy == "index" for one in cause.findings)]
    (root,) = causes[0].roots
    assert (root.code, root.file) == ("index.entry_wrong_key", "index")
    assert len(causes) == 1


def test_ext_files_that_are_gone(tmp_path: Path) -> None:
    """81 units have an ext address (golden store `ext`: each message of its three topics)."""
    store = open_store("ext", tmp_path)
    addresses = sum(
        path.read_bytes()[at + 12 : at + 17] == b"\x80\0\0\0\0"
        for path in (store / "consumequeue").rglob("0*")
        if path.is_file()
        for at in range(0, path.stat().st_size, 20)
    )
    shutil.rmtree(store / "consumequeue_ext")
    (cause,) = audit(store).causes
    (root,) = cause.roots
    assert (root.code, root.file) == ("queue.tags_code", "consumequeue_ext")
    assert f"{addresses} units" in root.message
