"""Searches for messages by their keys and IDs, as the verb `query` and the functions `find` and `explain` make them, and their answers as JSON, or as tables that fit 80 columns."""

from __future__ import annotations

import sys
import time
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.formats import iso, make_offset_id, parse_offset_id, parse_unique_key
from rocket_columnar.query import OpenStore, QueryAnswer, find_by_offset_id, find_by_unique_key, keys_of, scan
from rocket_columnar.query import explain as explain_walk
from rocket_spec.errors import InvalidError, UsageError
from rocket_spec.printable import counted

from rocketspec._options import listed, refuse
from rocketspec._tables import columns
from rocketspec._terminal import binary_stdout, one_line, say_all, terminal_width

if TYPE_CHECKING:
    from rocket_columnar.consumers import Bounds, UnitAt
    from rocket_columnar.query import Explanation, FileWalk, Row
    from rocket_spec.layout import Geometry


_LIMIT: Final = 32  # messages that a broker's client asks for
_STEPS: Final = 12  # entries of a chain that are shown
_COMPRESSED: Final = 1
_WITH_IDS: Final = 3  # messages at most whose ids are shown too


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """The options; exactly one of `key`, `unique_key` (made by a client) and `offset_id` (by a broker) is set.

    Times are in ms. `exact` drops messages that only share the hash of the key, `every` all limits; `scan` reads the log instead of the index.
    """

    topic: str | None
    key: str | None
    unique_key: str | None = None
    offset_id: str | None = None
    begin: int | None = None
    end: int | None = None
    max_num: int | None = None
    exact: bool = False
    every: bool = False
    scan: bool = False

    def check(self, *, explain: bool) -> None:
        """Raises UsageError for options that cannot be combined."""
        ids = {"--key": self.key, "--unique-key": self.unique_key, "--offset-id": self.offset_id}
        given = [name for name, value in ids.items() if value is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            raise UsageError(f"expected one of --key, --unique-key and --offset-id; found {found}")
        if self.key is not None and self.topic is None:
            raise UsageError("--key requires --topic: the index stores topic and key together")
        if explain and (self.topic is None or self.offset_id is not None):
            raise UsageError("--explain requires --topic, and --key or --unique-key: it follows the index")
        if self.every and self.scan:
            raise UsageError("--all and --scan are mutually exclusive")
        if self.max_num is not None and self.max_num < 0:
            raise UsageError(f"--max {self.max_num}: expected 0 or more")
        if self.max_num is not None and (self.every or self.scan or self.key is None):
            raise UsageError("--max is the limit of a broker: it requires --key without --all or --scan")
        more = {
            "--topic": self.topic,
            "--begin": self.begin,
            "--end": self.end,
            "--exact": self.exact,
            "--all": self.every,
            "--scan": self.scan,
        }
        named = more if self.offset_id is not None else {}
        refuse(named, "cannot be combined with --offset-id, which names one message")


def answer(store: OpenStore, asked: SearchArguments) -> QueryAnswer:
    """The messages; raises what the searches raise."""
    window = (-(1 << 63) if asked.begin is None else asked.begin, _last(asked, (1 << 63) - 1))
    if asked.offset_id is not None:
        return store.answer_of(find_by_offset_id(store, parse_offset_id(asked.offset_id)))
    wanted = asked.key if asked.key is not None else asked.unique_key or ""
    if asked.scan:
        rows = scan(store, asked.topic, wanted, window=window)
        return store.answer_of([row for row in rows if asked.unique_key in (None, row["uniq_key"])])
    if asked.unique_key is not None:
        topics = sorted(store.store.has_queue) if asked.topic is None else [asked.topic]
        found = find_by_unique_key(store, asked.unique_key, topics)
        return store.answer_of([row for row in found if window[0] <= row["store_timestamp"] <= window[1]])
    topic = asked.topic or ""
    if asked.every:
        return store.query_all(topic, wanted, begin=asked.begin, end=asked.end)
    ask = store.query_exact if asked.exact else store.query
    return ask(topic, wanted, **_limits(asked))


def explained(store: OpenStore, asked: SearchArguments) -> tuple[QueryAnswer, Explanation]:
    """The messages, none on a chain on which a broker would never answer, and the path of a broker to the key."""
    try:
        found = answer(store, asked)
    except InvalidError:
        found = QueryAnswer((), (), 0, 0, truncated=False)
    wanted = asked.key if asked.key is not None else asked.unique_key or ""
    return found, explain_walk(store, asked.topic or "", wanted, exact=asked.exact, **_limits(asked))


def _limits(asked: SearchArguments) -> dict[str, int]:
    return {
        "max_num": _LIMIT if asked.max_num is None else asked.max_num,
        "begin": asked.begin or 0,
        "end": _last(asked, time.time_ns() // 1_000_000),
    }


def _last(asked: SearchArguments, otherwise: int) -> int:
    return otherwise if asked.end is None else asked.end


def find(
    store: Path | str,
    *,
    topic: str | None = None,
    key: str | None = None,
    unique_key: str | None = None,
    offset_id: str | None = None,
    begin: int | None = None,
    end: int | None = None,
    scan: bool = False,
    geometry: Geometry | None = None,
    commitlog: Sequence[str] = (),
) -> QueryAnswer:
    """Every message with a key or ID, without a broker's limit.

    Args:
        store: the store's directory.
        topic: the topic; required with `key`.
        key: a key or unique key.
        unique_key: an ID made by a client (`msgId`).
        offset_id: an ID made by a broker (`offsetMsgId`).
        begin: earliest store timestamp, ms.
        end: latest store timestamp, ms, inclusive.
        scan: read the commit log instead of the index.
        geometry: of the index files; else it is inferred.
        commitlog: the commit-log directories, if they are not in the store.

    Raises:
        UsageError: no store, not exactly one of `key`, `unique_key` and `offset_id`, or a geometry that cannot be inferred.
        FormatError: no index file that can be read as one.
        OSError: a path that is missing or cannot be read.
    """
    asked = SearchArguments(
        topic,
        key,
        unique_key,
        offset_id,
        begin,
        end,
        None,
        offset_id is None,
        key is not None and not scan,
        scan,
    )
    asked.check(explain=False)
    with OpenStore(store, geometry, commitlog=commitlog) as opened:
        return answer(opened, asked)


def explain(
    store: Path | str,
    topic: str,
    key: str,
    *,
    begin: int | None = None,
    end: int | None = None,
    max_num: int | None = None,
    geometry: Geometry | None = None,
    commitlog: Sequence[str] = (),
) -> Explanation:
    """The path of a broker to a key through index files, slots, chains and log, and why nothing is found.

    Arguments and errors as for `find` and `query`.
    """
    asked = SearchArguments(topic, key, begin=begin, end=end, max_num=max_num)
    asked.check(explain=True)
    with OpenStore(store, geometry, commitlog=commitlog) as opened:
        _, walk = explained(opened, asked)
    return walk


def plain(row: Row) -> Row:
    """A message as JSON: its row with its IDs; binary is base64."""
    shown = {
        name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in row.items()
    }
    whole = row["topic"] is not None
    shown["offset_id"] = make_offset_id(row["store_host"], row["phy_offset"]) if whole else None
    shown["client"] = client_of(row["uniq_key"], row["born_timestamp"]) if whole else None
    return shown


def client_of(unique_key: str | None, born_timestamp: int | None) -> dict[str, Any] | None:
    """The origin and time that a unique key records; None for a key not made by a client of 4.9.3."""
    try:
        parts = parse_unique_key(unique_key or "")
    except UsageError:
        return None
    now = time.time_ns() // 1_000_000
    made = parts.time_before(now) if born_timestamp is None else parts.time_near(born_timestamp)
    return asdict(parts) | {"time": made}


# The answer as it is printed.


def to_json(answer: QueryAnswer, explanation: Explanation | None, asked: SearchArguments) -> dict[str, Any]:
    """The answer as one JSON object, with the IDs of each message; binary is base64."""
    shown: dict[str, Any] = {
        "offsets": answer.offsets,
        "messages": [plain(row) for row in answer.messages],
        "last_update_timestamp": answer.last_update_timestamp,
        "last_update_phy_offset": answer.last_update_phy_offset,
        "truncated": answer.truncated,
    }
    if asked.unique_key is not None:
        shown["unique_key"] = client_of(asked.unique_key, None)
    if asked.offset_id is not None:
        shown["offset_id"] = asdict(parse_offset_id(asked.offset_id))
    if explanation is not None:
        shown["explain"] = asdict(explanation)
    return shown


def show(answer: QueryAnswer, explanation: Explanation | None, asked: SearchArguments) -> None:
    """Prints the messages and, if there is one, the explanation."""
    if answer.messages:
        say_all(_messages(answer, asked))
        if len(answer.messages) <= _WITH_IDS:
            say_all(_id_lines(answer.messages))
        say_all([_summary(answer, asked)])
    if explanation is not None:
        say_all(_walk_lines(explanation))


def bounds_line(bounds: Bounds, broker_max: int | None = None) -> str:
    """The logical offsets of a queue in one line, with what a broker answers after a start, if that differs."""
    least = f"minimum {bounds.min_offset:,}"
    if bounds.broker_min != bounds.min_offset:
        least += f" (a broker answers {bounds.broker_min:,})"
    most = f"maximum {bounds.max_offset:,}"
    if broker_max not in (None, bounds.max_offset):
        most += f" (a broker answers {broker_max:,} after a start)"
    return f"{bounds.topic} queue {bounds.queue_id}: {least}, {most}"


def show_unit(found: UnitAt) -> None:
    """Prints a unit and, if there is one, its message."""
    say_all([bounds_line(found.bounds)])
    if found.file is not None:
        say_all([f"offset {found.offset:,}: {found.file}, byte {found.position:,}"])
    if found.phy_offset is not None:
        say_all([f"  physical offset {found.phy_offset:,}, size {found.size:,}, tags code {found.tags_code}"])
    say_all([f"  {problem}" for problem in found.problems])
    if found.row is not None:
        say_all([*_table([found.row], [""]), *_id_lines([found.row])])


def show_bodies(rows: Sequence[Row]) -> None:
    """Prints the bodies as they were sent; before each of several a line with its place and length."""
    output = binary_stdout()
    for row in rows:
        body: bytes = row["body"] or b""
        if (row["sys_flag"] or 0) & _COMPRESSED:
            with suppress(zlib.error):  # of another kind than 4.9.3's
                body = zlib.decompress(body)
        if len(rows) > 1:
            head = f"== {row['phy_offset']}, {row['topic']} queue {row['queue_id']} offset {row['queue_offset']}, "
            output.write(one_line(f"{head}{len(body)} bytes").encode() + b"\n")
        output.write(body)
        if len(rows) > 1 or sys.stdout.isatty():
            output.write(b"\n")
    output.flush()


def nothing_found(
    answer: QueryAnswer, asked: SearchArguments, *, topics: Sequence[str], has_index: bool
) -> str:
    """The reason why there is no message, in one line, and what to try next; `topics` are those that the store has queues of."""
    if asked.topic is not None and topics and asked.topic not in topics:
        return f"nothing found: the store has no queue of topic {asked.topic}; it has {listed(topics)}"
    if not has_index and asked.offset_id is None and not asked.scan:
        return "nothing found: the store has no index files; --scan searches the commit log instead"
    if asked.offset_id is not None:
        parts = parse_offset_id(asked.offset_id)
        return f"nothing found: no record at physical offset {parts.phy_offset:,} (the ID is of broker {parts.store_host})"
    if asked.scan:
        return f"nothing found: no record in the log has that {'key' if asked.unique_key is None else 'ID'}"
    if asked.unique_key is not None:
        told = _made(client_of(asked.unique_key, None))
        of = "a topic that has queues" if asked.topic is None else f"topic {asked.topic}"
        return f"nothing found: no message of {of} has that ID{f'; it was {told}' if told else ''} (--scan reads the whole log)"
    what = f"{counted(len(answer.offsets), 'hit')} without a record" if answer.offsets else "no hit"
    return f"nothing found: {what} (--explain shows why)"


def _made(client: dict[str, Any] | None) -> str:
    if client is None:
        return ""
    return f"made by {client['client_ip']}, process {client['pid']}, number {client['counter']}, at {iso(client['time'])}"


def _id_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The IDs of messages."""
    for row in rows:
        if row["topic"] is None:
            continue
        offset_id = make_offset_id(row["store_host"], row["phy_offset"])
        yield f"{row['phy_offset']}: offset ID {offset_id}, topic {one_line(row['topic'])}"
        if row["uniq_key"] is not None:
            told = _made(client_of(row["uniq_key"], row["born_timestamp"]))
            yield f"  unique key {one_line(row['uniq_key'])}{f', {told}' if told else ''}"


def _is_asked(row: Row, asked: SearchArguments) -> bool:
    return asked.key is None or (row["topic"] == asked.topic and asked.key in keys_of(row))


def _messages(answer: QueryAnswer, asked: SearchArguments) -> Iterator[str]:
    return _table(answer.messages, ["" if _is_asked(row, asked) else "*" for row in answer.messages])


def _table(rows: Sequence[Row], marks: Sequence[str]) -> Iterator[str]:
    """Rows with their marks as a table of the terminal's width: numbers and times whole, texts cut."""
    head = ("offset", "queue", "logical", "stored", "tags", "keys", "body")
    cells = [_cells(row, mark=mark) for row, mark in zip(rows, marks, strict=True)]
    yield from columns([head, *cells], right=range(3), whole=range(4), width=terminal_width())


def _cells(row: Row, *, mark: str) -> tuple[str, ...]:
    if row["topic"] is None:
        return (f"{mark}{row['phy_offset']}", "", "", "incomplete record", "", "", f"{row['size']:,} bytes")
    return (
        f"{mark}{row['phy_offset']}",
        str(row["queue_id"]),
        str(row["queue_offset"]),
        iso(row["store_timestamp"]),
        one_line(row["tags"] or ""),
        one_line(row["keys"] or ""),
        _body(row),
    )


def _body(row: Row) -> str:
    body: bytes = row["body"] or b""
    if row["sys_flag"] & _COMPRESSED:
        return f"({len(body):,} bytes, compressed)"
    return one_line(body[:200].decode("utf-8", "replace"))


def _summary(answer: QueryAnswer, asked: SearchArguments) -> str:
    parts = [counted(len(answer.messages), "message")]
    others = sum(not _is_asked(row, asked) for row in answer.messages)
    if others:
        parts.append(f"* marks {others:,} of other keys with the same hash (--exact drops them)")
    if asked.offset_id is not None:
        named, stored = parse_offset_id(asked.offset_id).store_host, answer.messages[0]["store_host"]
        if named != stored:
            parts.append(f"stored by {stored}, but the ID names {named}, where it may be another message")
    if answer.truncated:
        parts.append("there are more (a broker sends at most --max, and never more than 64; --all shows all)")
    if asked.offset_id is None and not asked.scan:
        parts.append(f"index written up to {iso(answer.last_update_timestamp)}")
    return "; ".join(parts)


def _walk_lines(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.index_key} has key hash {explanation.key_hash}"
    yield f"window {iso(explanation.begin)} to {iso(explanation.end)}, at most {explanation.limit} hits"
    guess = explanation.geometry
    if guess is not None:
        slots, entries = guess.geometry
        yield f"geometry {slots:,} slots, {entries:,} entries: {guess.how}, {guess.reason}"
    for walked in explanation.files:
        yield ""
        yield from _file_lines(walked)
    yield ""
    if explanation.found:
        yield f"found {counted(explanation.found, 'message')}"
    else:
        yield "nothing found:"
        yield from (f"- {reason}" for reason in explanation.reasons)


def _file_lines(walked: FileWalk) -> Iterator[str]:
    yield f"{walked.file} {walked.verdict}: {walked.why}"
    yield f"  slot {walked.slot:,} at byte {walked.slot_offset:,} holds {walked.slot_value}: {walked.chain}"
    same = [step for step in walked.steps if step.entry in walked.checks]
    others = [step for step in walked.steps if step.entry not in walked.checks]
    kept = {step.entry for step in [*same, *others][:_STEPS]}
    rows = [("entry", "key hash", "offset", "placed at", "prev", "")]
    remarks: dict[int, str] = {}
    for step in walked.steps:
        if step.entry not in kept:
            continue
        verdict = step.verdict if step.read else f"({step.verdict})"
        rows.append(
            (
                str(step.entry),
                str(step.key_hash),
                str(step.phy_offset),
                iso(step.store_timestamp),
                str(step.prev_entry),
                verdict,
            )
        )
        parts = [walked.checks[step.entry].text] if step.entry in walked.checks else []
        if step.stop and step.stop != "the chain ends":
            parts.append(f"a query stops here: {step.stop}")
        remarks[len(rows) - 1] = "; ".join(parts)
    if len(rows) == 1:
        return
    width = max(len(row[0]) for row in rows)
    for number, line in enumerate(columns(rows, right=range(5))):
        yield f"  {line}"
        if remarks.get(number):
            yield f"  {' ' * width}  {remarks[number]}"
    if any(not step.read for step in walked.steps):
        yield "  (entries that a query does not reach are in brackets)"
    left_out = len(walked.steps) - len(kept) + walked.omitted
    if left_out:
        yield f"  and {counted(left_out, 'more entry', 'more entries')}"
