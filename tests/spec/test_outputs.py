"""Files that are written whole or not at all."""

import errno
from pathlib import Path

import pytest
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
