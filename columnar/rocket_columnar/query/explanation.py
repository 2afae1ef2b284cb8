"""Explains the result of a query: each index file, slot and chain entry that it visits, and the reason in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from rocket_spec.errors import InvalidError
from rocket_spec.printable import counted

from rocket_columnar.formats import hash_key, index_key, iso
from rocket_columnar.index import GeometryGuess, IndexFile, IndexHeader
from rocket_columnar.query.broker_query import (
    MAX_BATCH,
    Check,
    Found,
    OpenStore,
    Step,
    check_record,
    find_key,
    walk,
)

# Explains a query file by file: its steps in each index file, and the hits after the point where it stops.


_SHOWN: Final = (
    1000  # entries with other hashes that are kept of one chain, and records that are looked at in the log
)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The query: first and last ms, and maximum number of hits."""

    begin: int
    end: int
    limit: int


@dataclass(frozen=True, slots=True)
class FileWalk:
    """The steps of a query in one index file.

    Attributes:
        time_matched: whether the window touches its begin and end (IDX-TIME-1 .. IDX-TIME-3).
        verdict: "searched", "skipped" (the window does not touch it) or "not reached".
        slot: number of the key's slot.
        slot_value: what it holds, the number of the chain's newest entry; None outside the file.
        chain: what that value means.
        steps: the chain's entries, newest first, those that a broker does not get to as well.
        omitted: number of entries with other hashes that are not in `steps`.
        checks: by entry number, what the commit log holds for each entry with the key's hash.
    """

    file: str
    header: IndexHeader
    time_matched: bool
    verdict: Literal["searched", "skipped", "not reached"]
    why: str
    slot: int
    slot_offset: int
    slot_value: int | None
    chain: str
    steps: tuple[Step, ...]
    omitted: int
    checks: dict[int, Check]

    @property
    def same_hash(self) -> Iterator[tuple[Step, Check]]:
        """The entries with the key's hash, and what the log holds for each."""
        return ((step, self.checks[step.entry]) for step in self.steps if step.entry in self.checks)


def walk_files(store: OpenStore, topic: str, key: str, window: TimeWindow) -> Iterator[FileWalk]:
    """Each index file, newest first."""
    closed = None
    hits = 0
    if window.limit <= 0:
        closed = "the limit is 0"
    for name, index in reversed(store.indexes.files):
        header = index.header()
        matched = index.time_matched(window.begin, window.end)
        times = f"its span, {iso(header.begin_timestamp)} to {iso(header.end_timestamp)},"
        verdict: Literal["searched", "skipped", "not reached"]
        if closed is not None:
            verdict, why = "not reached", closed
        elif matched:
            verdict, why = "searched", f"{times} touches the window"
        else:
            verdict, why = "skipped", f"{times} does not touch the window"
        found = _walk_file(store, (name, index), (topic, key), window, (verdict, why))
        hits += sum(step.read and step.verdict == "hit" for step in found.steps)
        yield found
        if closed is None and header.begin_timestamp < window.begin:
            closed = f"the search ends with {name}, which begins before the window"
        elif closed is None and hits >= window.limit:
            closed = f"the limit of {window.limit} hits is reached in {name}"


def _walk_file(
    store: OpenStore,
    opened: tuple[str, IndexFile],
    asked: tuple[str, str],
    window: TimeWindow,
    verdict: tuple[Literal["searched", "skipped", "not reached"], str],
) -> FileWalk:
    name, index = opened
    key_hash = hash_key(index_key(*asked))
    header = index.header()
    steps: list[Step] = []
    omitted = 0
    checks: dict[int, Check] = {}
    chain = walk(index, key_hash, window.begin, window.end, past_stop=True, searched=verdict[0] == "searched")
    for step in chain:
        if step.verdict != "other hash" and len(checks) < _SHOWN:
            checks[step.entry] = check_record(store.log, step.phy_offset, *asked)
        elif len(steps) - len(checks) >= _SHOWN:
            omitted += 1
            continue
        steps.append(step)
    value = index.slot(key_hash)
    return FileWalk(
        name,
        header,
        index.time_matched(window.begin, window.end),
        *verdict,
        key_hash % index.geometry.hash_slot_num,
        index.slot_position(key_hash),
        value,
        _slot_in_words(value, header.index_count),
        tuple(steps),
        omitted,
        checks,
    )


def _slot_in_words(value: int | None, count: int) -> str:
    if value is None:
        return "the slot is outside the file (IDX-SEL-8)"
    if value == 0:
        return "the slot is empty: no key of this slot was ever put (IDX-SEL-1)"
    if value < 0 or value > count:
        return f"out of range for an index count of {count:,}: taken as empty (IDX-SEL-1)"
    if count <= 1:
        return "the file holds no entries (IDX-SEL-1)"
    return f"entry {value:,} is the chain's newest"


# The reason why a query finds nothing, in words, the most telling first.


_REASONS_SHOWN: Final = 5
_ROLLBACK: Final = 12
_STANDS_FOR: Final = {
    "half": "is a half message for {topic}: until its transaction is committed its keys are those of {own}",
    "delayed": "is a delayed message for {topic}: until it is due its keys are those of {own}",
    "copied": "was copied to {topic} by multi-dispatch, which indexes nothing: its keys are those of {own}",
}


def reasons(
    store: OpenStore, files: Sequence[FileWalk], asked: tuple[str, str, int], window: TimeWindow
) -> Iterator[str]:
    """Sentences; `asked` is topic, key and key hash."""
    topic, key, key_hash = asked
    if not files:
        yield "The store has no index files to search."
    elif window.limit <= 0:
        yield "At most 0 messages were asked for."
    elif window.begin > window.end:
        yield "The window ends before it begins."
    if any(walked.checks for walked in files):
        yield _summary(files, key_hash)
    for walked in files:
        yield from _of_file(walked, window)
    indexed = any(check.verdict == "the key" for walked in files for _, check in walked.same_hash)
    if files and not any(walked.checks for walked in files):
        yield f"No index file holds an entry with key hash {key_hash}, that of {topic}#{key}: it was never put, or its file is gone."
    if not indexed:
        yield from _of_log(store, files, topic, key)


def _summary(files: Sequence[FileWalk], key_hash: int) -> str:
    """A sentence on the entries with the key's hash: their number by kind."""
    kinds: dict[str, int] = {}
    for walked in files:
        for step, check in walked.same_hash:
            if check.verdict == "another key":
                kind = "of another key"
            elif step.verdict == "outside the window":
                kind = "outside the window"
            elif not step.read:
                kind = "where the search does not get to"
            else:
                kind = "without a record in the commit log"
            kinds[kind] = kinds.get(kind, 0) + 1
    total = sum(kinds.values())
    what = "index entry has" if total == 1 else "index entries have"
    return f"{total:,} {what} key hash {key_hash}: {', '.join(f'{n:,} {kind}' for kind, n in kinds.items())}."


def _of_file(walked: FileWalk, window: TimeWindow) -> Iterator[str]:
    """The reason for each entry with the key's hash."""
    for stop in (step.stop for step in walked.steps if step.read and step.stop and "cycle" in step.stop):
        yield f"{walked.file}: {stop}."
    for step, check in islice(walked.same_hash, _REASONS_SHOWN):
        entry = f"{walked.file}, entry {step.entry:,} (physical offset {step.phy_offset:,})"
        if check.verdict == "another key":
            yield f"{entry} has the same hash, but is another key: {check.text}."
            continue
        if step.verdict == "outside the window":
            yield f"{entry} is outside the window: {_placed(walked, step.entry, step.time_diff, step.store_timestamp)}{_real(check.store_timestamp, step.store_timestamp, window)}."
        elif walked.verdict != "searched":
            yield f"{entry} would be a hit, but the file is {walked.verdict}: {walked.why}."
        elif not step.read:
            yield f"{entry} would be a hit, but the walk does not get there: {_stop(walked)}."
        if check.verdict == "no record":
            yield f"{entry} has the hash, but there is no record at its offset: {check.text}."


def _stop(walked: FileWalk) -> str:
    for step in walked.steps:
        if step.read and step.stop:
            return f"it ends at entry {step.entry:,}, since {step.stop}"
    return "it ends before"


def _placed(walked: FileWalk, entry: int, time_diff: int, placed: int) -> str:
    if time_diff < 0:
        return "its time diff is negative (IDX-SEL-5)"
    text = f"the index places it at {iso(placed)}"
    if entry == 1 and time_diff > 0:
        begin = walked.header.begin_timestamp
        text += f", {time_diff:,} s after {iso(begin)}: the first entry of a rolled file (IDX-PUT-8)"
    return text


def _real(stored: int | None, placed: int, window: TimeWindow) -> str:
    """A remark where the record itself is inside the window."""
    if stored is None or stored == placed or not window.begin <= stored <= window.end:
        return ""
    return f"; the record was stored at {iso(stored)}, which is inside, but an index keeps whole seconds (IDX-SEL-4)"


def _of_log(store: OpenStore, files: Sequence[FileWalk], topic: str, key: str) -> Iterator[str]:
    """Records of the commit log that the index does not show."""
    if not store.log.files:
        yield "The store has no commit log to search."
        return
    found = list(islice(find_key(store.log, topic, key), _SHOWN))
    exact = [record for record in found if record.how == "key"]
    for record in exact[:_REASONS_SHOWN]:
        yield f"The commit log holds it at physical offset {record.phy_offset:,}, stored at {iso(record.store_timestamp)}: {_not_indexed(record, files)}."
    if len(exact) > _REASONS_SHOWN:
        least = "at least " if len(found) == _SHOWN else ""
        yield f"The commit log holds {least}{counted(len(exact) - _REASONS_SHOWN, 'more record')} with it."
    if exact:
        return
    yield f"No record of topic {topic} in the commit log has this key."
    for kind, text in _STANDS_FOR.items():
        first = next((record for record in found if record.stands_for == kind), None)
        if first is not None:
            yield f"The record at physical offset {first.phy_offset:,} {text.format(topic=topic, own=first.topic)}."
    others = sorted(
        {record.topic for record in found if record.how == "other topic" and record.stands_for is None}
    )
    if others:
        more = f" and {len(others) - _REASONS_SHOWN:,} more" if len(others) > _REASONS_SHOWN else ""
        yield f"The key exists under other topics: {', '.join(others[:_REASONS_SHOWN])}{more}."
    parts = [record for record in found if record.how == "part"]
    if parts:
        yield f"The record at physical offset {parts[0].phy_offset:,} has it in KEYS, but keys are separated by one space, not by commas."


def _not_indexed(record: Found, files: Sequence[FileWalk]) -> str:
    """The reasons that a record of the log may have no entry."""
    if record.sys_flag & _ROLLBACK == _ROLLBACK:
        return "a rolled-back half message, which is never indexed"
    written = [walked.header for walked in files if walked.header.index_count > 1]
    if not written:
        return "the index holds nothing at all"
    if record.phy_offset < written[-1].begin_phy_offset:
        return f"the index begins later, at {written[-1].begin_phy_offset:,}: its older files are gone"
    end = max(header.end_phy_offset for header in written)
    if record.phy_offset >= end:  # a full file may end among the keys of a record
        return f"the index ends before, at {end:,}: not dispatched yet, or its file was deleted after a crash"
    return "the index covers that offset and lacks it: files are missing or damaged"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole walk.

    Attributes:
        index_key: topic#key, which is hashed.
        begin: first ms of the window.
        end: last ms of the window.
        limit: hits at most: min(max_num, 64).
        geometry: of the index files, and how it was determined; None without files.
        files: newest first, as a query goes.
        skipped: names in the index folder that a broker does not load, each with the reason.
        found: number of messages in the answer; None if a broker would never answer.
        reasons: why nothing was found, in sentences; empty when something was.
    """

    index_key: str
    key_hash: int
    begin: int
    end: int
    limit: int
    geometry: GeometryGuess | None
    files: tuple[FileWalk, ...]
    skipped: tuple[tuple[str, str], ...]
    found: int | None
    reasons: tuple[str, ...]


def explain(
    store: OpenStore, topic: str, key: str, *, max_num: int, begin: int, end: int, exact: bool = False
) -> Explanation:
    """Walks as a query of a key or unique key does, and beyond its end, and explains why nothing is found.

    Where the index does not show the key at all, the commit log is read for it. The window is in ms, both ends inclusive. UsageError for a
    negative `max_num`.

    Source: IDX-SEL-1 .. IDX-SEL-9, IDX-TIME-1 .. IDX-TIME-3; `IndexService.queryOffset` 157-195.
    """
    ask = store.query_exact if exact else store.query
    found: int | None
    try:
        found = len(ask(topic, key, max_num=max_num, begin=begin, end=end).messages)
    except InvalidError:
        found = None
    window = TimeWindow(begin, end, min(max_num, MAX_BATCH))
    name = index_key(topic, key)
    key_hash = hash_key(name)
    files = tuple(walk_files(store, topic, key, window))
    why = () if found else tuple(reasons(store, files, (topic, key, key_hash), window))
    indexes = store.indexes
    return Explanation(
        name,
        key_hash,
        *(begin, end, window.limit),
        indexes.geometry,
        files,
        indexes.skipped,
        found,
        why,
    )
