"""Digests of a file's and a store's content: equal on replicas whose content is equal.

Each file gives a SHA-256 over a canonical stream:

- index: the 40 bytes of the header, then the 20 bytes of each entry 1 .. index_count - 1. Slots follow from these.
- queue, ext: the units from the file's first to its last valid one, 20 bytes each; of an ext file, each unit.
- log: the bytes of each record that verifies, without blanks and what is after them.
- checkpoint: its three times; listed, but not part of the store's digest, as what depends on when a broker flushes.

The store's digest is the SHA-256 over `kind NUL logical-name NUL digest LF` of its files, sorted. The logical name
is `TOPIC/QUEUE_ID/BASE` of a queue's file, the base offset of a log's, and the place in the order of an index file,
whose name is a clock time. Files without content are skipped.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import CHECKPOINT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, Geometry

from rocket_columnar.decode import decode, unit_count, values
from rocket_columnar.facts import Store, any_store
from rocket_columnar.formats import LONG_MIN
from rocket_columnar.index import read_header, resolve_each
from rocket_columnar.store import (
    KINDS,
    Reader,
    StoreFile,
    WorkDone,
    is_gone,
    open_reader,
    size_of,
    while_there,
)

_Hash = Any  # a hash of `hashlib`, whose type has no public name

_BYTES_AT_ONCE: Final = 1 << 22
_EMPTY: Final = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The SHA-256 of one file's content in hexadecimal digits; `logical_name` is its name in the store's digest, None if it is no part of that."""

    path: str
    kind: str
    logical_name: str | None
    digest: str


def digest(
    store: Store | Path | str,
    *,
    on_skip: Callable[[str, str], None] = lambda _name, _reason: None,
    on_progress: Callable[[int, int], None] | None = None,
    **known: Any,
) -> Iterator[FileDigest]:
    """The digest of each file of a store, or of the one file at `store`.

    Args:
        store: the store, its directory, one of its directories, or a file.
        on_skip: called with the name of each skipped file, and the reason; see `find_files`.
        on_progress: called with the bytes of the files that were read, and those of all.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: nothing found, or a geometry that cannot be inferred.
        MalformedError: a file that cannot be decoded, or a log with gaps.
        OSError: a file cannot be read.
    """
    made = any_store(store, **known)
    files = made.listed if made.path is None else made.of(*KINDS)
    for name, reason in made.skipped:
        on_skip(name, reason)
    geometry = made.given_geometry or (None if made.conf is None else made.geometry)
    for file in files:
        if file.kind not in KINDS:
            raise UsageError(
                f"{file.path}: of kind {file.kind}; there are digests of {', '.join(KINDS)} files"
            )
    guesses = while_there(files, lambda some: _geometries(some, geometry))
    geometries = {file: guess.geometry for file, guess in guesses.items()}
    order = 0
    sizes = {file: size_of(file) or 0 for file in files}
    work = WorkDone(on_progress, sum(sizes.values()))
    for file in files:
        try:
            with file.open() as reader:
                total = hashlib.sha256()
                if file.kind == "index":
                    _index(reader, total, geometries.get(file))
                    name, order = str(order), order + 1
                else:
                    _STREAMS[file.kind](file, reader, total)
                    name = _name(file)
                number = total.hexdigest()
        except FileNotFoundError:
            if len(files) == 1 or not is_gone(file):
                raise
            continue  # deleted since it was listed
        work.add(sizes[file])
        counts = number != _EMPTY and file.kind != "checkpoint"
        yield FileDigest(file.name, file.kind, name if counts else None, number)


def store_digest(files: list[FileDigest]) -> str:
    """The digest of a store from those of its files."""
    lines = sorted(
        f"{file.kind}\0{file.logical_name}\0{file.digest}\n"
        for file in files
        if file.logical_name is not None
    )
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _geometries(files: Sequence[StoreFile], given: Geometry | None) -> dict[StoreFile, Any]:
    try:
        return dict(resolve_each(files, given))
    except UsageError:
        if given is not None or any(_count(file) > 1 for file in files if file.kind == "index"):
            raise
        return {}  # no entries: the header is all there is


def _count(file: StoreFile) -> int:
    with open_reader(file.path) as reader:
        return read_header(reader).index_count


def _name(file: StoreFile) -> str:
    if file.kind in ("queue", "ext"):
        return f"{file.topic}/{file.queue_id}/{file.base_offset}"
    return str(file.base_offset)


def _add(reader: Reader, total: _Hash, begin: int, end: int) -> None:
    for start in range(begin, end, _BYTES_AT_ONCE):
        total.update(reader.read(start, min(_BYTES_AT_ONCE, end - start)).data)


def _index(reader: Reader, total: _Hash, geometry: Geometry | None) -> None:
    if geometry is None and not reader.read(0, INDEX_HEADER.size).any():
        return
    _add(reader, total, 0, INDEX_HEADER.size)
    if geometry is not None:
        begin = geometry.entries_offset
        count = min(read_header(reader).index_count, geometry.index_num)
        if count > 1:
            _add(reader, total, begin + INDEX_ENTRY.size, begin + count * INDEX_ENTRY.size)


def _queue(_: StoreFile, reader: Reader, total: _Hash) -> None:
    _add(reader, total, 0, unit_count(reader) * QUEUE_UNIT.size)


def _ext(file: StoreFile, reader: Reader, total: _Hash) -> None:
    for _, batch in decode([file], tables=["consume_queue_ext"], columns=["address", "size"]):
        address, size = (values(batch.column(name)).astype(np.int64) for name in ("address", "size"))
        starts = address - LONG_MIN - file.base_offset if address.size else address
        for start, length in zip(starts.tolist(), size.tolist(), strict=True):
            _add(reader, total, start, start + length)


def _log(file: StoreFile, reader: Reader, total: _Hash) -> None:
    """Bytes that do not verify are not content; `audit` reports them."""
    columns = ["phy_offset", "size"]
    batches = decode([file], tables=["commit_log"], columns=columns, on_gap=lambda _: None)
    for _, batch in batches if reader.size else ():
        starts = values(batch.column("phy_offset")) - file.base_offset
        ends = starts + values(batch.column("size"))
        breaks = np.flatnonzero(starts[1:] != ends[:-1]) + 1
        for part in np.split(np.arange(starts.size), breaks):
            if part.size:
                _add(reader, total, int(starts[part[0]]), int(ends[part[-1]]))


def _checkpoint(_: StoreFile, reader: Reader, total: _Hash) -> None:
    _add(reader, total, 0, min(reader.size, CHECKPOINT.size))


_STREAMS: Final[dict[str, Callable[[StoreFile, Reader, _Hash], None]]] = {
    "queue": _queue,
    "ext": _ext,
    "log": _log,
    "checkpoint": _checkpoint,
}
