"""Walks one chain, entry by entry, and states what each means to a query; always ends."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from rocket_columnar.formats import to_i64
from rocket_columnar.index import IndexFile

_T = TypeVar("_T")
_LOOKS: Final = 5  # at a slot that a broker keeps putting into

Verdict = Literal["hit", "other hash", "outside the window"]


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a chain.

    Attributes:
        entry: its number.
        offset: byte offset in the file.
        key_hash: as stored.
        phy_offset: as stored, bytes.
        time_diff: as stored, seconds.
        store_timestamp: begin_timestamp + 1000 * time_diff, ms: where a query places the entry.
        prev_entry: as stored.
        verdict: what the entry by itself means to the query.
        read: whether a broker gets here; False after the entry that ends its walk.
        stop: why a broker's walk ends at this entry, and the clause; None if it goes on.
    """

    entry: int
    offset: int
    key_hash: int
    phy_offset: int
    time_diff: int
    store_timestamp: int
    prev_entry: int
    verdict: Verdict
    read: bool
    stop: str | None


def walk(
    index: IndexFile, key_hash: int, begin: int, end: int, *, past_stop: bool = False, searched: bool = True
) -> Iterator[Step]:
    """The entries of the hash's chain, newest first, each once.

    Args:
        index: the file.
        key_hash: hash whose slot is walked.
        begin: first ms of the window, inclusive.
        end: last ms of the window, inclusive.
        past_stop: continue to the chain's real end after the entry at which a broker stops.
        searched: whether a broker opens this file for the query at all.

    Source: IDX-SEL-1 .. IDX-SEL-8; `IndexFile.selectPhyOffset` 191-265.
    """
    header = index.header()
    count = header.index_count
    seen: set[int] = set()
    read = searched
    for entry, stored in index.chain(key_hash):
        seen.add(entry)
        time = to_i64(header.begin_timestamp + 1000 * stored.time_diff)
        verdict: Verdict = "hit" if begin <= time <= end else "outside the window"
        if stored.key_hash != key_hash:
            verdict = "other hash"
        end_of_chain = _end(index, entry, stored.prev_entry, count, seen)
        stop = end_of_chain
        if stored.time_diff < 0:
            verdict = verdict if verdict == "other hash" else "outside the window"
            stop = "its time diff is negative (IDX-SEL-5)"
        elif time < begin and end_of_chain is None:
            stop = "it is before the window (IDX-SEL-7)"
        yield Step(
            entry,
            index.entry_position(entry),
            *stored[:3],
            time,
            stored.prev_entry,
            verdict,
            read,
            stop if read else None,
        )
        read = read and stop is None
        if end_of_chain is not None or not (read or past_stop):
            return


def settled(index: IndexFile, key_hash: int, ask: Callable[[], _T]) -> _T:
    """What `ask` finds by the hash's slot; the file is read again if a broker has put into the slot since its header was.

    A slot that leads to an entry after the count that was read before it would count as empty (IDX-SEL-1).
    """
    for _ in range(_LOOKS):
        if (index.slot(key_hash) or 0) <= index.header().index_count:
            break
        index.load()
    return ask()


def _end(index: IndexFile, entry: int, previous: int, count: int, seen: set[int]) -> str | None:
    """Why a chain has no further entry, or None."""
    if previous == 0:
        return "the chain ends"
    if previous < 0 or previous > count:
        return f"its previous entry, {previous:,}, is out of range (IDX-SEL-6)"
    if previous == entry:
        return "its previous entry is itself (IDX-SEL-6)"
    if previous in seen:
        return f"the chain leads back to entry {previous:,}: a cycle, which a broker follows forever"
    if index.entry(previous) is None:
        return f"entry {previous:,} is outside the file (IDX-SEL-8)"
    return None
