"""Plans a rebuild: the files it reads, the sizes of those it writes, and where index files begin and end."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, QUEUE_UNIT, Geometry

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, check_log_files, unread_findings
from rocket_columnar.formats import ENTRY_DTYPE, hash_key, tag_key
from rocket_columnar.index import plain, read_headers
from rocket_columnar.log import KeyRules, StoredRecords, log_tail
from rocket_columnar.rebuild.dispatched_columns import BrokerRules, Dispatched
from rocket_columnar.store import KINDS, StoreFile, open_reader, read_at, usual_size

# Keeps only those rebuilt files that are missing from the store or differ.


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
    """Removes from `staging` what the store already has, byte for byte; an index file that stands for one of the store takes its name."""
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


_QUEUE_FILE_SIZE: Final = 6_000_000  # 4.9.3's default, `MessageStoreConfig.mappedFileSizeConsumeQueue`
_BUCKET_BYTES: Final = 512 << 20
_MOST_BUCKETS: Final = 256
_SAMPLE: Final = 256  # entries of each index file that are compared with their records


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """The plan of one store's rebuild."""

    files: tuple[StoreFile, ...]
    skipped: tuple[tuple[str, str], ...]  # name and reason of each file that the listing skipped
    logs: tuple[StoreFile, ...]  # the commit-log files that are dispatched
    geometry: Geometry  # of the index files to write
    queue_file_size: int  # of the consume-queue files to write, bytes
    buckets: int  # number of buckets to which the queues are distributed
    rules: BrokerRules

    def missing_files(self) -> list[Finding]:
        """Files that cannot be read, and log files that are missing between the others; a rebuild continues without them."""
        unread, found = unread_findings(self.skipped), list[Finding]()
        sizes = [file.size() for file in self.logs]
        check_log_files(self.logs, sizes, found.append, end=log_tail(self.logs).end)
        names = {finding.file for finding in unread}
        gaps = (finding for finding in found if finding.code == "log.gap" and finding.file not in names)
        return [*unread, *gaps]


class IndexPlan(NamedTuple):
    """One index file: keys `begin` up to `end` of all keys of the log."""

    begin: int
    end: int


def plan_rebuild(store: Store, queue_file_size: int | None = None) -> RebuildPlan:
    """Surveys a store for `rebuild`; arguments and errors as there."""
    logs, conf = store.of("log"), store.conf
    if not logs:
        raise UsageError(f"{store.name}: contains no commit log to rebuild from")
    if queue_file_size is not None and queue_file_size < 1:
        raise UsageError(f"a consume-queue file of {queue_file_size:,} bytes")
    shape = _geometry(store)
    if not plain(shape) or shape.index_num < 2 or shape.hash_slot_num < 1:
        raise UsageError(
            f"geometry {shape.hash_slot_num},{shape.index_num}: such an index file has no room for entries"
        )
    sizes = [file.size() for file in store.queues]
    own_size = usual_size(sizes, unit=QUEUE_UNIT.size) if sizes else 0
    size = queue_file_size or own_size or (_QUEUE_FILE_SIZE if conf is None else conf.queue_file_size)
    size = -(-size // QUEUE_UNIT.size) * QUEUE_UNIT.size
    held = sum(file.size() for file in logs)
    buckets = min(-(-held // _BUCKET_BYTES) or 1, _MOST_BUCKETS)
    files = store.of(*KINDS)
    release = store.release
    indexes = tuple(file for file in store.of("index") if file.size() == shape.file_size)
    keys = KeyRules(_has_tag_keys(logs, indexes, shape)) if release is None else KeyRules.of(release)
    batched = frozenset(file.topic or "" for file in store.batches)
    rules = BrokerRules(
        store.light, keys._replace(delays=store.delays), batched, store.kept_topics, indexes, shape
    )
    return RebuildPlan(files, store.skipped, logs, shape, size, buckets, rules)


def _has_tag_keys(logs: Sequence[StoreFile], indexes: Sequence[StoreFile], geometry: Geometry) -> bool:
    """Whether an entry of `topic#T#tags` follows the keys of a record with tags, in the newest index file that has one.

    The release of the last start decides: a store may have been written by an older one before.
    """
    with StoredRecords(logs) as records:
        for file in reversed(indexes):
            size = ENTRY_DTYPE.itemsize
            raw = read_at(file, geometry.entries_offset + size, _SAMPLE * size)
            entries = np.frombuffer(raw[: len(raw) // size * size], ENTRY_DTYPE)
            runs = np.split(entries, np.flatnonzero(np.diff(entries["phy_offset"])) + 1)
            for run in runs[1:-1]:  # the others may have entries elsewhere
                record = records.at(int(run["phy_offset"][0]))
                tags = record and record.pairs.get(b"TAGS")
                if record and tags:
                    return hash_key(tag_key(record.topic, tags.decode())) in run["key_hash"].tolist()
    return False


def _geometry(store: Store) -> Geometry:
    """The geometry of the store's own index files with a byte, else of the configuration, else 4.9.3's default."""
    foreign = store.conf is not None and store.foreign_index
    known = store.given_geometry or (None if foreign else store.geometry)
    if known is not None:
        return known
    if not foreign and store.geometry_fault is not None and any(file.size() for file, _ in store.indexes):
        raise store.geometry_fault
    return DEFAULT_GEOMETRY if store.conf is None else store.conf.geometry


def plan_indexes(dispatched: Sequence[Dispatched], geometry: Geometry) -> list[IndexPlan]:
    """The index files of a log, first to last.

    The first file is created by the first record; a further one by any record that finds the file before full, with or
    without keys (IDX-SVC-3).
    """
    if not any(part.records for part in dispatched):
        return []
    total, room = sum(part.keys for part in dispatched), geometry.index_num - 1
    plans = [IndexPlan(begin, min(begin + room, total)) for begin in range(0, total, room)]
    if not plans:
        return [IndexPlan(0, 0)]
    if total % room == 0 and record_after(dispatched, total) is not None:
        plans.append(IndexPlan(total, total))
    return plans


def record_after(dispatched: Sequence[Dispatched], key: int) -> int | None:
    """Store timestamp of the first record after key `key - 1`, which is the last one of its batch; None without one."""
    batches = [batch for part in dispatched for batch in part.batches]
    number = bisect_right([*accumulate(batch.keys for batch in batches)], key - 1) if key else -1
    times = [batches[number].tail_time] if key else []
    times += (batch.first_time for batch in batches[number + 1 : number + 2])
    return next((time for time in times if time is not None), None)
