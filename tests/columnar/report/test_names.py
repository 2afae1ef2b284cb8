"""Files under names that are not their own, and queues of another store: the first cause, and a cure that makes it whole."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from rocket_columnar.report import FindingGroup, audit
from rocket_golden import open_store, truth

SECOND, THIRD = f"commitlog/{1 << 15:020}", f"commitlog/{1 << 16:020}"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return open_store("mixed", tmp_path)


def first_cause(store: Path) -> FindingGroup:
    return audit(store).causes[0]


def run(cause: FindingGroup, folder: Path) -> None:
    subprocess.run(["sh", "-c", "\n".join(cause.commands)], cwd=folder, check=True)


def test_a_part_of_a_log_file_does_not_get_its_name(mixed: Path) -> None:
    """A broker refuses a file of another length (`MappedFileQueue.doLoad`)."""
    file = mixed / SECOND
    part = file.rename(file.with_name(f".{file.name}.AbC123"))
    part.write_bytes(part.read_bytes()[:20_000])
    assert not any(
        "mv " in line and part.name in line for cause in audit(mixed).causes for line in cause.commands
    )


def test_what_was_after_the_end_of_a_log_file_is_kept(mixed: Path, tmp_path: Path) -> None:
    file = mixed / SECOND
    content = file.read_bytes()
    file.write_bytes(content + b"x")
    run(first_cause(mixed), tmp_path)
    (kept,) = tmp_path.glob("resized-*/*")
    assert (file.read_bytes(), kept.read_bytes()) == (content, content + b"x")


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
