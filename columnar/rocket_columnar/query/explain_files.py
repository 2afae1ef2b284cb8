"""Explains a query file by file: its steps in each index file, and the hits after the point where it stops."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from rocket_columnar.formats import hash_key, index_key, iso
from rocket_columnar.index import IndexFile, IndexHeader
from rocket_columnar.query.broker_query import OpenStore
from rocket_columnar.query.chain_walk import Step, walk
from rocket_columnar.query.explain_records import Check, check_record

_SHOWN: Final = 1000  # entries with other hashes that are kept of one chain


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
        file: its name in the store.
        header: its header.
        time_matched: whether the window touches its begin and end (IDX-TIME-1 .. IDX-TIME-3).
        verdict: "searched", "skipped" (the window does not touch it) or "not reached".
        why: the verdict in words.
        slot: number of the key's slot.
        slot_offset: its byte offset.
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
