"""Stores for queries: messages with keys, in a commit log, and index files of them."""

from pathlib import Path

from rocket_columnar.index import IndexFile
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, put, record

GEOMETRY = Geometry(16, 200)
FIRST, SECOND = "20260101000000000", "20260101000000001"
FOREVER = (1 << 63) - 1


def message(
    offset: int, keys: str = "k", topic: str = "T", time: int = BEGIN, *, unique: str = "u", sys_flag: int = 0
) -> bytes:
    properties = f"KEYS\1{keys}\2UNIQ_KEY\1{unique}\2"
    return record(
        offset, topic=topic.encode(), properties=properties.encode(), store_timestamp=time, sys_flag=sys_flag
    )


SIZE = len(message(0))


def write_index(
    root: Path, puts: list[tuple[str, int, int]], name: str = FIRST, *, seed: tuple[int, int] = (0, 0)
) -> None:
    """An index file of `puts`: index key, physical offset, store timestamp."""
    path = root / "index" / name
    with IndexFile(path, *GEOMETRY, end_phy_offset=seed[0], end_timestamp=seed[1]) as index:
        for one in puts:
            assert index.put(*one)


def write_log(root: Path, *records: bytes, begin: int = 0, size: int = 4096) -> list[int]:
    """A commit-log file of `records`, and their physical offsets."""
    offsets = [begin]
    for one in records:
        offsets.append(offsets[-1] + len(one))
    put(root, f"commitlog/{begin:020}", b"".join(records).ljust(size, b"\0"))
    return offsets[:-1]
