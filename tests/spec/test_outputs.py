"""Files that are written whole or not at all, and pages that replace nothing but pages."""

import errno
from pathlib import Path

import pytest
from rocket_conformance.pages import write_page
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


@pytest.mark.parametrize("there", [b"", b"\xda\xa3\x20\xa7 a log file"])
def test_a_page_replaces_no_other_file(tmp_path: Path, there: bytes) -> None:
    file = tmp_path / "00000000000000000000"
    file.write_bytes(there)
    with pytest.raises(UsageError, match="is no HTML page"):
        write_page(file, "<!doctype html>")
    assert file.read_bytes() == there


def test_a_page_replaces_a_page_but_no_folder(tmp_path: Path) -> None:
    for text in ("<!doctype html>1", "<!DOCTYPE html>2"):
        write_page(tmp_path / "page.html", text)
        assert (tmp_path / "page.html").read_text() == text
    with pytest.raises(UsageError, match="is no file"):
        write_page(tmp_path, "<!doctype html>")
