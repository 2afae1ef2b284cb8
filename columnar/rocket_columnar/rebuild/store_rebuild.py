"""Index files and consume queues made again from the commit log, into a directory of their own.

What comes out is what an unbroken broker would have written from this log, byte for byte, but for the names of
index files, which are clock times. The store is only read. Files are written under a temporary directory and
renamed when all are whole.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, QUEUE_UNIT

from rocket_columnar.decode import ExtUnits
from rocket_columnar.findings import Finding, finding, gap_finding
from rocket_columnar.index import read_headers, resolve
from rocket_columnar.log import Requests, TopicNames, has_light_queues, read_requests
from rocket_columnar.rebuild.dispatched_columns import put_run, queue_runs, units_of
from rocket_columnar.rebuild.ext_addresses import Addresses
from rocket_columnar.rebuild.index_writer import IndexWriter, zone_of
from rocket_columnar.rebuild.missing_files import drop_unchanged
from rocket_columnar.rebuild.queue_writer import QueueWriter
from rocket_columnar.store import find_files, is_safe, protected_directories, usual_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rocket_spec.layout import Geometry

    from rocket_columnar.log import Gap
    from rocket_columnar.store import StoreFile

__all__ = ["PARTS", "Rebuilt", "rebuild"]

PARTS: Final = ("index", "consumequeue", "consumequeue_ext")
"""The directories that a rebuild writes."""

_QUEUE_FILE_SIZE: Final = 6_000_000  # 4.9.3's default, `MessageStoreConfig.mappedFileSizeConsumeQueue`


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild wrote.

    Attributes:
        files: paths relative to the directory, with `/`, sorted.
        records: how many records of the log were dispatched.
        geometry: of the index files.
        queue_file_size: length of a consume-queue file, bytes.
        findings: what was passed over: gaps in the log, topics that no directory can have.
    """

    files: tuple[str, ...]
    records: int
    geometry: Geometry
    queue_file_size: int
    findings: tuple[Finding, ...]


def rebuild(
    store: Path | str,
    directory: Path | str,
    *,
    geometry: Geometry | None = None,
    queue_file_size: int | None = None,
    only_missing: bool = False,
) -> Rebuilt:
    """Makes index files and consume queues from the commit log of `store`.

    Args:
        store: the directory of a store.
        directory: where `index/`, `consumequeue/` and `consumequeue_ext/` go; made where it is missing. It must
            lie outside the store and hold none of the three.
        geometry: of the index files; else that of the store's own, else 4.9.3's default.
        queue_file_size: bytes, rounded up to whole units as a broker does; else that of the store's own queues,
            else 4.9.3's default.
        only_missing: leaves out the files that the store holds already, byte for byte.

    Raises:
        UsageError: no commit log, a geometry that does not fit or cannot be told, or a directory that will not do.
        OSError: reading or writing fails.
    """
    store, directory = Path(store), Path(directory)
    files = find_files(store)
    logs = [file for file in files if file.kind == "log"]
    if not logs:
        raise UsageError(f"{store}: holds no commit log to rebuild from")
    if queue_file_size is not None and queue_file_size < 1:
        raise UsageError(f"a consume-queue file of {queue_file_size:,} bytes")
    shape = _geometry(files, geometry)
    size = queue_file_size or _queue_size(files)
    size = -(-size // QUEUE_UNIT.size) * QUEUE_UNIT.size
    _check_directory(store, directory)
    with _staging(directory) as staging:
        work = _Work(files, staging, shape, size)
        try:
            work.run(logs)
        finally:
            work.index.close()
        work.copy_ext()
        if only_missing:
            drop_unchanged(staging, files)
        written = sorted(
            path.relative_to(staging).as_posix() for path in staging.rglob("*") if path.is_file()
        )
        for part in PARTS:
            if (staging / part).exists():
                (staging / part).rename(directory / part)
    return Rebuilt(tuple(written), work.records, shape, size, tuple(work.findings))


def _geometry(files: Sequence[StoreFile], given: Geometry | None) -> Geometry:
    if given is not None:
        return given
    indexes = [file for file in files if file.kind == "index"]
    if not indexes:
        return DEFAULT_GEOMETRY
    sizes = [file.size() for file in indexes]
    usual = usual_size(sizes)
    whole = [file for file, size in zip(indexes, sizes, strict=True) if size == usual]
    try:
        return resolve(whole).geometry
    except ValueError:
        for file in whole:
            try:
                return resolve([file]).geometry
            except ValueError:
                continue
        raise


def _queue_size(files: Sequence[StoreFile]) -> int:
    sizes = [file.size() for file in files if file.kind == "queue"]
    return (usual_size(sizes, unit=QUEUE_UNIT.size) if sizes else 0) or _QUEUE_FILE_SIZE


def _check_directory(store: Path, directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: a file; -o names a directory")
    whole = directory.resolve()
    for kept in [store.resolve(), *protected_directories(store)]:
        if whole == kept or kept in whole.parents:
            raise UsageError(f"{directory}: lies in the store; a rebuild never writes into one")
    for part in PARTS:
        if (directory / part).exists():
            raise UsageError(f"{directory / part}: is there already")


@contextmanager
def _staging(directory: Path) -> Iterator[Path]:
    """A temporary directory beside what it becomes; gone afterwards, and `directory` too where it stayed empty."""
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".rebuild-", dir=directory))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if made and not any(directory.iterdir()):
            directory.rmdir()


class _Work:
    """One rebuild: writers by queue, and what was passed over."""

    def __init__(
        self, files: Sequence[StoreFile], staging: Path, geometry: Geometry, queue_size: int
    ) -> None:
        self.findings: list[Finding] = []
        self.records = 0
        self._files = files
        self._staging = staging
        self._queue_size = queue_size
        headers = read_headers(file for file in files if file.kind == "index")
        self.index = IndexWriter(staging / "index", geometry, zone_of(headers))
        self._ext = ExtUnits(files)
        self._writers: dict[tuple[str, int], tuple[QueueWriter, Addresses] | None] = {}
        self._topics = TopicNames()
        self._light = has_light_queues(files)

    def run(self, logs: Sequence[StoreFile]) -> None:
        """Dispatches every record of the log."""
        for file in logs:
            for batch in read_requests(file, self._topics, self._on_gap(file, last=file is logs[-1])):
                self.records += int(np.count_nonzero(batch.dispatched))
                self.index.add(batch)
                self._queue(batch, file)

    def _on_gap(self, file: StoreFile, *, last: bool) -> Callable[[Gap], None]:
        size = file.path.stat().st_size

        def note(gap: Gap) -> None:
            tail = last and gap.end >= file.base_offset + size
            self.findings.append(gap_finding(file, size, gap, tail=tail, live=False))

        return note

    def _queue(self, batch: Requests, file: StoreFile) -> None:
        """Puts a batch's units, queue by queue."""
        units = units_of(file, batch, self._topics, light=self._light)
        for run in queue_runs(units[np.lexsort((units["queue_id"], units["topic"]))]):
            name, number = self._topics.names[run["topic"][0]], int(run["queue_id"][0])
            writer = self._writer(name, number, file.name, int(run["phy_offset"][0]) - file.base_offset)
            if writer is not None:
                put_run(run, *writer)

    def _writer(self, topic: str, queue_id: int, file: str, at: int) -> tuple[QueueWriter, Addresses] | None:
        """The writer of a queue, or None where its topic cannot be a directory; that is told once."""
        key = topic, queue_id
        if key not in self._writers:
            if is_safe(topic):
                directory = self._staging / "consumequeue" / topic / str(queue_id)
                addresses = Addresses(self._ext, topic, queue_id)
                self._writers[key] = QueueWriter(directory, self._queue_size), addresses
            else:
                text = f"the topic {topic!r} of this record cannot be the name of a directory; its queue is left out"
                self.findings.append(finding("store.unsafe_name", file, at, text))
                self._writers[key] = None
        return self._writers[key]

    def copy_ext(self) -> None:
        """The ext files themselves, of the queues that were made."""
        for file in self._files:
            if file.kind == "ext" and self._writers.get((file.topic or "", file.queue_id or 0)):
                target = self._staging / "consumequeue_ext" / (file.topic or "") / str(file.queue_id)
                target.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.path, target / file.path.name)
