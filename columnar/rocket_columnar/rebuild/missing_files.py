"""Keeps only those rebuilt files that are missing from the store or differ."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rocket_columnar.index import read_headers
from rocket_columnar.store import StoreFile, open_reader


class Twin(NamedTuple):
    """The store's own index file that a rebuilt one stands for: its name, and whether it has the same bytes."""

    name: str
    same: bool


def has_bytes_of(path: Path, other: StoreFile) -> bool:
    """Whether two files have the same bytes; what is a hole in both is not read. An OSError if one cannot be read."""
    with open_reader(path) as first, other.open() as second:
        return first.size == second.size and all(
            first.read(start, length).data == second.read(start, length).data
            for start, length in first.held_by_either(second, 0, first.size)
        )


def drop_unchanged(staging: Path, files: Sequence[StoreFile]) -> None:
    """Removes from `staging` the files that the store already has, byte for byte; index files under any name.

    A rebuilt index file that stands for one of the store takes its name, so that it can replace it.
    """
    own = {file.name: file for file in files}
    for path in sorted(path for path in staging.rglob("*") if path.is_file()):
        name = path.relative_to(staging).as_posix()
        if not name.startswith("index/") and name in own and has_bytes_of(path, own[name]):
            path.unlink()
    begins = index_begins(files)
    paths = sorted((staging / "index").glob("*"))
    names = settled_names([path.name for path in paths], [twin_of(path, begins) for path in paths])
    apart = [path.rename(path.with_name(f".{path.name}")) for path in paths]
    for path, settled in zip(apart, names, strict=True):
        if settled is None:
            path.unlink()
        else:
            path.rename(path.with_name(settled))
    for directory in sorted((path for path in staging.rglob("*") if path.is_dir()), reverse=True):
        if not any(directory.iterdir()):
            directory.rmdir()


def index_begins(files: Sequence[StoreFile]) -> dict[tuple[int, int], StoreFile]:
    """The store's index files by what distinguishes them: offset and store timestamp of their first put."""
    headers = read_headers(file for file in files if file.kind == "index")
    return {(header.begin_phy_offset, header.begin_timestamp): file for file, header in headers}


def twin_of(path: Path, begins: Mapping[tuple[int, int], StoreFile]) -> Twin | None:
    """The file among those of `index_begins` that the rebuilt one at `path` stands for."""
    for _, header in read_headers([StoreFile("index", path, path.name)]):
        same = begins.get((header.begin_phy_offset, header.begin_timestamp))
        if same is not None:
            return Twin(same.path.name, has_bytes_of(path, same))
    return None


def settled_names(names: Sequence[str], twins: Sequence[Twin | None]) -> list[str | None]:
    """The final names of rebuilt index files; None for those that are not kept.

    A file that stands for one of the store takes its name. One that the store lacks gets a name that sorts
    between those before and after it: a broker reads its files in the order of their names, and those of the store
    may have been made long after their records, by a recovery.
    """
    settled: list[str | None] = []
    last, used = "", set[str]()
    for number, (name, twin) in enumerate(zip(names, twins, strict=True)):
        if twin is not None and twin.name not in used:
            used.add(twin.name)
            last = max(last, twin.name)
            settled.append(None if twin.same else twin.name)
            continue
        free = name
        behind = next(
            ((place, twin.name) for place, twin in enumerate(twins) if place > number and twin), None
        )
        if behind is not None and name >= behind[1]:
            free = f"{int(behind[1]) - (behind[0] - number):017}"
        last = free if free > last else f"{int(last) + 1:017}"
        settled.append(last)
    return settled
