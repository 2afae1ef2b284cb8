"""The reason why a query finds nothing, in words, the most telling first."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from rocket_columnar.formats import iso
from rocket_columnar.query.broker_query import OpenStore
from rocket_columnar.query.explain_files import FileWalk, TimeWindow
from rocket_columnar.query.explain_records import Found, find_key

_SHOWN: Final = 5
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
    for step, check in islice(walked.same_hash, _SHOWN):
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
    found = list(islice(find_key(store.log, topic, key), 1000))
    exact = [record for record in found if record.how == "key"]
    for record in exact[:_SHOWN]:
        yield f"The commit log holds it at physical offset {record.phy_offset:,}, stored at {iso(record.store_timestamp)}: {_not_indexed(record, files)}."
    if len(exact) > _SHOWN:
        yield f"The commit log holds {len(exact) - _SHOWN:,} more records with it."
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
        yield f"The key exists under other topics: {', '.join(others[:_SHOWN])}."
    parts = [record for record in found if record.how == "part"]
    if parts:
        yield f"The record at physical offset {parts[0].phy_offset:,} has it in KEYS, but keys are separated by one space, not by commas."


def _not_indexed(record: Found, files: Sequence[FileWalk]) -> str:
    """Why a record of the log may have no entry."""
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
