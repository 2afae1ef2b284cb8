"""Files that are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest
from rocket_spec.errors import UsageError
from rocket_spec.outputs import write_whole


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "report.html"
    page.write_text("before")

    def full(self: Path, content: bytes) -> int:
        with self.open("wb") as file:
            file.write(content[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(page, "after")
    assert page.read_text() == "before"
    assert list(tmp_path.iterdir()) == [page]


def test_the_error_names_what_was_to_be_written_and_an_empty_new_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self: Path, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(tmp_path / "new" / "report.html", "after")
    assert caught.value.filename == str(tmp_path / "new" / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["fifo", "link to a device", "directory"])
def test_what_is_no_file_is_not_replaced(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/null")
    before = path.lstat()
    with pytest.raises(UsageError, match="not a regular file"):
        write_whole(path, "text")
    assert os.path.samestat(before, path.lstat())
    assert [found.name for found in tmp_path.iterdir()] == ["out"]
