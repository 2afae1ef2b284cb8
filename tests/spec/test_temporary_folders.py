"""Temporary folders: private from the first moment, and gone at the end."""

import os
import stat
import tempfile
from pathlib import Path

import pytest
from rocket_spec.temporary_folders import owned_folder


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_its_user_can_enter_it(umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask, and already when it is made."""
    modes: list[int] = []
    real = tempfile.mkdtemp

    def made(*args: str, **options: str) -> str:
        path = real(*args, **options)
        modes.append(stat.S_IMODE(Path(path).stat().st_mode))
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    before = os.umask(umask)
    try:
        with owned_folder(tmp_path, prefix="x-") as folder:
            assert modes == [0o700]
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    assert list(tmp_path.iterdir()) == []
