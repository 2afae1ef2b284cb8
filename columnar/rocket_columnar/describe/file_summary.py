"""Summaries of consume-queue, ext, commit-log and checkpoint files, and the occupancy of index files."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import BLANK, CHECKPOINT, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, QUEUE_UNIT, Geometry
from rocket_spec.printable import counted

from rocket_columnar.decode import decode
from rocket_columnar.formats import ENTRY_DTYPE, is_blank
from rocket_columnar.index import IndexHeader, read_header
from rocket_columnar.log import Gap
from rocket_columnar.store import Reader, StoreFile, WorkDone, open_reader, read_at

_Progress = Callable[[int, int], None] | None

Summary = dict[str, Any]
"""Names to numbers, texts, lists and such dictionaries; times in ms, offsets in bytes unless named otherwise."""


def summarise(file: StoreFile, *, on_progress: Callable[[int, int], None] | None = None) -> Summary:
    """Facts about one file: `size` in bytes, and those of its kind; `on_progress` is called with the bytes read, and those of the file.

    UsageError for an index file, see `occupancy`, and for a file of `config/`, whose rows are all there is to know.
    FormatError for bytes that cannot be decoded.
    """
    if file.kind not in _KINDS:
        what = "an index file" if file.kind == "index" else "a file with tables; use `rocketspec decode`"
        raise UsageError(f"{file.path}: {what}")
    return {"size": file.path.stat().st_size} | _KINDS[file.kind](file, on_progress)


def _ends(rows: Sequence[dict[str, Any]]) -> Summary:
    return {"first": rows[0] if rows else None, "last": rows[-1] if rows else None}


def _queue(file: StoreFile, on_progress: _Progress) -> Summary:
    columns = ("logical_offset", "phy_offset", "size", "tags_code", "pre_blank")
    pre_blank = invalid = written = 0
    ends: list[Summary] = []
    for _, batch in decode([file], tables=["consume_queue"], columns=columns, on_progress=on_progress):
        rows = batch.to_pylist()
        pre_blank += sum(row["pre_blank"] for row in rows)
        invalid += sum(row["phy_offset"] < 0 or row["size"] <= 0 for row in rows)
        written += len(rows)
        real = [row for row in rows if not row["pre_blank"]]
        ends = [*ends[:1], *real[-1:]] if ends else [*real[:1], *real[-1:]]
    for row in ends:
        row.pop("pre_blank", None)
    first = file.base_offset // QUEUE_UNIT.size
    return {
        "topic": file.topic,
        "queue_id": file.queue_id,
        "base_offset": file.base_offset,
        "units": file.path.stat().st_size // QUEUE_UNIT.size,
        "written_units": written,
        "pre_blank_units": pre_blank,
        "invalid_units": invalid,
        "begin_logical_offset": ends[0]["logical_offset"] if ends else first + written,
        "end_logical_offset": first + written,
    } | _ends(ends)


def _ext(file: StoreFile, on_progress: _Progress) -> Summary:
    columns = ("address", "size", "tags_code", "store_timestamp")
    rows: list[Summary] = []
    units = used = 0
    for _, batch in decode([file], tables=["consume_queue_ext"], columns=columns, on_progress=on_progress):
        some = batch.to_pylist()
        units += len(some)
        used += sum(row["size"] for row in some)
        rows = [*rows[:1], *some[-1:]] if rows else [*some[:1], *some[-1:]]
    return {
        "topic": file.topic,
        "queue_id": file.queue_id,
        "base_offset": file.base_offset,
        "units": units,
        "used_bytes": used,
    } | _ends(rows)


def _log(file: StoreFile, on_progress: _Progress) -> Summary:
    topics: Counter[str] = Counter()
    columns = ("phy_offset", "size", "topic", "store_timestamp", "crc_ok")
    gaps: list[Gap] = []
    records = bad_crc = 0
    times: list[int] = []
    ends: list[Summary] = []
    batches = decode(
        [file], tables=["commit_log"], columns=columns, on_gap=gaps.append, on_progress=on_progress
    )
    for _, batch in batches:
        rows = batch.to_pylist()
        if not rows:
            continue
        records += len(rows)
        topics.update(row["topic"] for row in rows)
        bad_crc += sum(not row["crc_ok"] for row in rows)
        stored = [row["store_timestamp"] for row in rows]
        times = [min([*times[:1], *stored]), max([*times[1:], *stored])]
        ends = [*ends[:1], rows[-1]] if ends else [rows[0], rows[-1]]
    size = file.path.stat().st_size
    end = ends[-1]["phy_offset"] + ends[-1]["size"] - file.base_offset if ends else 0
    return {
        "base_offset": file.base_offset,
        "records": records,
        "bad_crc": bad_crc,
        "gaps": [{"begin": gap.begin, "end": gap.end, "found": gap.found} for gap in gaps],
        "used_bytes": end,
        "blank_bytes": _blank(file, end),
        "left_bytes": size - end,
        "begin_timestamp": times[0] if times else None,
        "end_timestamp": times[-1] if times else None,
        "topics": dict(topics.most_common()),
    } | _ends(ends)


def _blank(file: StoreFile, end: int) -> int:
    """Length of the blank that ends the file, 0 without one (LOG-BLANK-1, DLG-5)."""
    room = file.size() - end
    head = read_at(file, end, BLANK.size)
    return room if len(head) == BLANK.size and is_blank(head, 0, room) else 0


def checkpoint_times(file: StoreFile, _on_progress: _Progress = None) -> Summary:
    """The three times of a checkpoint, ms; errors as of `summarise`."""
    names = [field.name for field in CHECKPOINT.fields]
    ((_, batch),) = decode([file], tables=["checkpoint"], columns=names)
    (row,) = batch.to_pylist()
    return dict(row)


_KINDS: Final[dict[str, Callable[[StoreFile, _Progress], Summary]]] = {
    "queue": _queue,
    "ext": _ext,
    "log": _log,
    "checkpoint": checkpoint_times,
}


# The occupancy of an index file: slots, entries, chain lengths, times, oddities.


AT_ONCE: Final = 1 << 20
_BUCKETS: Final = 128
_POINTS: Final = 2000


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something that may surprise a reader; `clause` is set if the specification explains it."""

    clause: str
    text: str


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The occupancy of an index file.

    Attributes:
        entries: number of entries, 1 .. index_count - 1, in the file.
        capacity: number of entries that fit: index_num - 1.
        used_slots: slots that lead to an entry.
        chains: (length, number of chains) by length, 1 and up, counted by the entries' hashes.
        begin_timestamp: earliest time at which the index places an entry, ms; None without entries.
        end_timestamp: latest such time, ms.
        begin_phy_offset: lowest physical offset of an entry, bytes; None without entries.
        end_phy_offset: highest, bytes.
        slot_shares: share of used slots in each of up to 128 equal runs of slots.
        times: up to 2000 pairs of entry number and the ms at which the index places it, in order.
        oddities: in order of their places.
    """

    header: IndexHeader
    entries: int
    capacity: int
    used_slots: int
    chains: tuple[tuple[int, int], ...]
    begin_timestamp: int | None
    end_timestamp: int | None
    begin_phy_offset: int | None
    end_phy_offset: int | None
    slot_shares: tuple[float, ...]
    times: tuple[tuple[int, int], ...]
    oddities: tuple[Oddity, ...]


class _Entries:
    """Totals of one pass over the entries."""

    def __init__(self, geometry: Geometry, header: IndexHeader, count: int) -> None:
        self.count = count
        self.lengths = np.zeros(geometry.hash_slot_num, np.int32)
        self.bounds: list[tuple[int, int, int, int]] = []
        self.first_diff = 0
        self.ends = [(0, 0)]
        self.times: list[tuple[int, int]] = []
        self.bad_previous = self.negative_diffs = self.negative_hashes = self.earlier = 0
        self._slots = geometry.hash_slot_num
        self._begin = np.int64(header.begin_timestamp)
        self._last_time: np.int64 | None = None

    def add(self, entries: NDArray[Any], first: int) -> None:
        """Takes entries `first` and on into account."""
        numbers = np.arange(first, first + len(entries))
        hashes = entries["key_hash"].astype(np.int64)
        good = hashes >= 0
        self.negative_hashes += int(np.count_nonzero(~good))
        np.add.at(self.lengths, hashes[good] % self._slots, 1)
        previous = entries["prev_entry"].astype(np.int64)
        self.bad_previous += int(np.count_nonzero((previous < 0) | (previous >= numbers)))
        diffs = entries["time_diff"].astype(np.int64)
        self.negative_diffs += int(np.count_nonzero(diffs < 0))
        times = self._begin + diffs * 1000
        before = times[:1] if self._last_time is None else self._last_time
        self.earlier += int(np.count_nonzero(np.diff(times, prepend=before) < 0))
        self._last_time = times[-1]
        offsets = entries["phy_offset"].astype(np.int64)
        self.bounds.append((int(times.min()), int(times.max()), int(offsets.min()), int(offsets.max())))
        if first == 1:
            self.first_diff = int(diffs[0])
            self.ends = [(int(offsets[0]), int(offsets[-1]))]
        else:
            self.ends.append((int(offsets[0]), int(offsets[-1])))
        shown = numbers % max(1, -(-self.count // _POINTS)) == 0
        shown[0] |= first == 1
        shown[-1] |= first + len(entries) > self.count
        self.times += zip(numbers[shown].tolist(), times[shown].tolist(), strict=True)


def occupancy(
    path: Path, geometry: Geometry, *, on_progress: Callable[[int, int], None] | None = None
) -> Occupancy:
    """Reads an index file in bounded memory: 4 bytes per slot, and a million entries at a time.

    `on_progress` is called with the bytes that were read, and those to read: slots once, entries twice. MalformedError if the file is
    shorter than the geometry makes it.
    """
    with open_reader(path) as reader:
        header = read_header(reader)
        count = max(min(header.index_count, geometry.index_num) - 1, 0)
        gathered = _Entries(geometry, header, count)
        slots = INDEX_SLOT.size * geometry.hash_slot_num
        work = WorkDone(on_progress, slots + 2 * count * INDEX_ENTRY.size)
        for first in range(1, count + 1, AT_ONCE):
            stop = min(first + AT_ONCE, count + 1)
            gathered.add(_read_entries(reader, geometry, first, stop), first)
            work.add((stop - first) * INDEX_ENTRY.size)
        used, shares, strays, foreign = _slots(reader, geometry, count, work)
        torn = _torn(reader, geometry, count)
    lengths, chains = np.unique(gathered.lengths[gathered.lengths > 0], return_counts=True)
    earliest, latest, lowest, highest = zip(*gathered.bounds, strict=True) if gathered.bounds else ((),) * 4
    oddities = [
        *_of_header(header, geometry, gathered, used),
        *_of_entries(gathered, strays, foreign, torn=torn),
    ]
    return Occupancy(
        header=header,
        entries=count,
        capacity=max(geometry.index_num - 1, 0),
        used_slots=used,
        chains=tuple(zip(lengths.tolist(), chains.tolist(), strict=True)),
        begin_timestamp=min(earliest, default=None),
        end_timestamp=max(latest, default=None),
        begin_phy_offset=min(lowest, default=None),
        end_phy_offset=max(highest, default=None),
        slot_shares=tuple(shares),
        times=tuple(gathered.times),
        oddities=tuple(oddities),
    )


def _read_entries(reader: Reader, geometry: Geometry, first: int, stop: int) -> NDArray[Any]:
    offset = geometry.entries_offset + first * INDEX_ENTRY.size
    return reader.read(offset, (stop - first) * INDEX_ENTRY.size).view(ENTRY_DTYPE)


def _slots(
    reader: Reader, geometry: Geometry, count: int, work: WorkDone
) -> tuple[int, list[float], int, int]:
    """Used slots, their shares, and how many slots lead out of range or to an entry of another slot."""
    raw = reader.read(INDEX_HEADER.size, INDEX_SLOT.size * geometry.hash_slot_num)
    values = raw.view(">i4").astype(np.int32)
    work.add(raw.size)
    used = (values > 0) & (values <= count)
    strays = int(np.count_nonzero((values != 0) & ~used))
    buckets = min(_BUCKETS, geometry.hash_slot_num)
    edges = np.linspace(0, geometry.hash_slot_num, buckets + 1).astype(np.int64)
    shares = np.add.reduceat(used, edges[:-1], dtype=np.int64) / np.diff(edges)
    foreign = 0
    numbers, heads = np.flatnonzero(used), values[used]
    order = np.argsort(heads, kind="stable")
    numbers, heads = numbers[order], heads[order]
    for first in range(1, count + 1, AT_ONCE):
        stop = min(first + AT_ONCE, count + 1)
        low, high = np.searchsorted(heads, [first, stop])
        hashes = _read_entries(reader, geometry, first, stop)["key_hash"].astype(np.int64)
        foreign += int(
            np.count_nonzero(hashes[heads[low:high] - first] % geometry.hash_slot_num != numbers[low:high])
        )
        work.add((stop - first) * INDEX_ENTRY.size)
    return int(np.count_nonzero(used)), shares.tolist(), strays, foreign


def _torn(reader: Reader, geometry: Geometry, count: int) -> bool:
    """Whether the entry after the last one is not all zeros: an incomplete put (IDX-PUT-11)."""
    if count + 1 >= geometry.index_num:
        return False
    offset = geometry.entries_offset + (count + 1) * INDEX_ENTRY.size
    return bool(reader.read(offset, INDEX_ENTRY.size).any())


def _of_header(header: IndexHeader, geometry: Geometry, entries: _Entries, used: int) -> Iterator[Oddity]:
    if header.index_count == 0:
        yield Oddity("IDX-HDR-5", "the index count is 0: the file has never been written")
    if header.index_count < 0 or header.index_count > max(geometry.index_num, 1):
        yield Oddity("IDX-HDR-5", f"the index count {header.index_count:,} is out of range")
    if header.index_count >= geometry.index_num:
        yield Oddity("IDX-FULL-1", "the file is full")
    if header.end_timestamp < header.begin_timestamp:
        yield Oddity("IDX-HDR-3", "the last put has an earlier store time than the first")
    if entries.count and entries.first_diff > 0:
        yield Oddity(
            "IDX-PUT-8",
            f"entry 1 is placed {entries.first_diff:,} s after the begin timestamp, as the first of a rolled file is",
        )
    ends = (entries.ends[0][0], entries.ends[-1][1])
    if entries.count and ends[0] != header.begin_phy_offset:
        text = f"entry 1 has physical offset {ends[0]:,}, the header's begin is {header.begin_phy_offset:,}"
        yield Oddity("IDX-HDR-2", text)
    if entries.count and ends[1] != header.end_phy_offset:
        text = (
            f"the last entry has physical offset {ends[1]:,}, the header's end is {header.end_phy_offset:,}"
        )
        yield Oddity("IDX-HDR-3", text)
    if used != header.hash_slot_count:
        text = (
            f"{counted(used, 'slot is', 'slots are')} used, the hash slot count is {header.hash_slot_count:,}"
        )
        yield Oddity("IDX-HDR-4", text)


def _of_entries(entries: _Entries, strays: int, foreign: int, *, torn: bool) -> Iterator[Oddity]:
    counted = (
        (strays, "IDX-PUT-5", "slots whose number is not an entry's"),
        (foreign, "IDX-HASH-3", "slots that lead to an entry of another slot"),
        (entries.negative_hashes, "IDX-HASH-1", "entries with a negative key hash"),
        (entries.bad_previous, "IDX-PUT-6", "entries whose previous entry is not before them"),
        (entries.negative_diffs, "IDX-SEL-5", "entries with a negative time diff, which ends a search"),
        (entries.earlier, "IDX-SEL-7", "entries placed before the entry ahead of them"),
    )
    for number, clause, text in counted:
        if number:
            yield Oddity(clause, f"{text}: {number:,}")
    if torn:
        yield Oddity(
            "IDX-PUT-11",
            "the entry after the last one is not empty: a put was interrupted, or is in progress",
        )
