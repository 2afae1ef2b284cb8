"""Explains a query by the commit log: the record of each hit, and records of the key without a hit."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from rocket_columnar.decode import decode
from rocket_columnar.formats import SCHEDULE_TOPIC
from rocket_columnar.query.log_records import CommitLog, Row, keys_of
from rocket_columnar.store import StoreFile, WorkDone, is_gone, size_of

_COLUMNS: Final = ("phy_offset", "topic", "keys", "uniq_key", "store_timestamp", "sys_flag", "properties")
_WAITING: Final = {"RMQ_SYS_TRANS_HALF_TOPIC": "half", SCHEDULE_TOPIC.decode(): "delayed"}
_BYTES_AT_ONCE: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Check:
    """What is at the physical offset of an entry.

    Attributes:
        verdict: whether a record is there, and whether it is one with the key.
        text: the same in words, with topic and keys, or where the log begins and ends.
        store_timestamp: of the record, ms; None without one.
    """

    verdict: Literal["the key", "another key", "no record"]
    text: str
    store_timestamp: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """A record of the log that has a key, or nearly.

    Attributes:
        phy_offset: its physical offset, bytes.
        topic: its topic.
        store_timestamp: ms.
        sys_flag: as stored.
        how: "key" (a dispatch indexes it under the key), "other topic", or "part" (the key is a part of a
            key with commas, or holds spaces itself).
        stands_for: where it is a message for the topic asked for that is under another: "half" of a transaction,
            "delayed", or one that multi-dispatch "copied" into that queue; else None.
    """

    phy_offset: int
    topic: str
    store_timestamp: int
    sys_flag: int
    how: Literal["key", "other topic", "part"]
    stands_for: str | None = None


def check_record(log: CommitLog, offset: int, topic: str, key: str) -> Check:
    """Reads the record at a physical offset, and compares topic and keys."""
    row = log.row(offset)
    if row["topic"] is not None:
        same = row["topic"] == topic and key in keys_of(row)
        keys = " ".join(sorted(keys_of(row))) or "none"
        text = f"topic {row['topic']}, keys {keys}"
        return Check("the key" if same else "another key", text, row["store_timestamp"])
    bounds = log.range
    if bounds is None:
        text = "the store has no commit log"
    elif log.file_at(offset) is None:
        if offset < bounds[0]:
            text = f"the commit log begins at {bounds[0]:,}: expired"
        elif offset >= bounds[1]:
            text = f"the commit log's files end at {bounds[1]:,}"
        else:
            text = "a commit-log file is missing there"
    else:
        text = f"{log.file_at(offset).name} has no whole record there"  # type: ignore[union-attr]
    return Check("no record", text, None)


def find_key(log: CommitLog, topic: str, key: str) -> Iterator[Found]:
    """Records that have the key, in the order of the log; damaged ranges are skipped."""
    sizes = [size_of(file) or 0 for file in log.files]
    work = WorkDone(log.on_progress, sum(sizes))
    for file, end in zip(log.files, accumulate(sizes), strict=True):
        try:
            yield from _find_in(file, topic, key, work)
        except FileNotFoundError:  # expired since it was listed
            if not is_gone(file):
                raise
        work.reach(end)


def _find_in(file: StoreFile, topic: str, key: str, work: WorkDone) -> Iterator[Found]:
    if not _holds(file, key, work):
        return
    for _, batch in decode([file], tables=["commit_log"], columns=_COLUMNS, on_gap=lambda _: None):
        for row in batch.to_pylist():
            how = _how(row, topic, key)
            if how is not None:
                place = row["phy_offset"], row["topic"], row["store_timestamp"], row["sys_flag"]
                yield Found(*place, how, _stands_for(row, topic) if how == "other topic" else None)


def _stands_for(row: Row, topic: str) -> str | None:
    properties = dict(row["properties"])
    if properties.get("REAL_TOPIC") == topic:
        return _WAITING.get(row["topic"])
    copied = properties.get("INNER_MULTI_DISPATCH", "").split(",")
    return "copied" if topic and topic in copied else None


def _how(row: Row, topic: str, key: str) -> Literal["key", "other topic", "part"] | None:
    keys = keys_of(row)
    if key in keys:
        return "key" if row["topic"] == topic else "other topic"
    if row["topic"] != topic:
        return None
    if row["keys"] == key or any(key in part.split(",") for part in keys):
        return "part"
    return None


def _holds(file: StoreFile, key: str, work: WorkDone) -> bool:
    """Whether the file's bytes hold the key's, so that it pays to decode it."""
    needle = key.encode(errors="replace")
    if not needle or "\ufffd" in key:  # bytes that are not UTF-8 decode to U+FFFD
        return True
    with file.open() as reader:
        for begin, end in reader.extents():
            for start in range(begin, end, _BYTES_AT_ONCE):
                stop = min(start + _BYTES_AT_ONCE + len(needle) - 1, end)
                work.add(min(_BYTES_AT_ONCE, end - start))
                if needle in reader.read(start, stop - start).tobytes():
                    return True
    return False
