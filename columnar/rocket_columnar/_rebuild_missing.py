"""Of rebuilt files, those that the store lacks or holds otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocket_columnar._audit_index_read import read_headers
from rocket_columnar.store import StoreFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["drop_unchanged"]

_CHUNK: Final = 1 << 22


def _equal(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as first, other.open("rb") as second:
        while part := first.read(_CHUNK):
            if part != second.read(_CHUNK):
                return False
    return True


def drop_unchanged(staging: Path, files: Sequence[StoreFile]) -> None:
    """Removes from `staging` what the store has already, byte for byte; index files in whatever name.

    A rebuilt index file that stands for one of the store takes its name, so that it can replace it.
    """
    own = {file.name: file for file in files}
    for path in sorted(path for path in staging.rglob("*") if path.is_file()):
        name = path.relative_to(staging).as_posix()
        if not name.startswith("index/") and name in own and _equal(path, own[name].path):
            path.unlink()
    _drop_indexes(staging / "index", [file for file in files if file.kind == "index"])
    for directory in sorted((path for path in staging.rglob("*") if path.is_dir()), reverse=True):
        if not any(directory.iterdir()):
            directory.rmdir()


def _drop_indexes(directory: Path, indexes: Sequence[StoreFile]) -> None:
    paths = sorted(directory.iterdir()) if directory.exists() else []
    made = [StoreFile("index", path, path.name) for path in paths]
    by_begin = {
        (header.begin_phy_offset, header.begin_timestamp): file for file, header in read_headers(indexes)
    }
    renamed: list[tuple[Path, str]] = []
    for file, header in read_headers(made):
        same = by_begin.get((header.begin_phy_offset, header.begin_timestamp))
        if same is None:
            continue
        if _equal(file.path, same.path):
            file.path.unlink()
        else:
            renamed.append((file.path, same.path.name))
    for path, name in renamed:
        if not (directory / name).exists():
            path.rename(directory / name)
