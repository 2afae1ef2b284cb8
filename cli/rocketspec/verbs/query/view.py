"""Prints the answer of `query` and the path to it: as JSON, or as tables that fit 80 columns."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.formats import iso, make_offset_id, parse_offset_id
from rocket_columnar.query import keys_of
from rocket_spec.printable import counted

from rocketspec._options import listed
from rocketspec._search import client_of, plain
from rocketspec._tables import columns
from rocketspec._terminal import binary_stdout, one_line, say_all, terminal_width

if TYPE_CHECKING:
    from rocket_columnar.consumers import Bounds, UnitAt
    from rocket_columnar.query import Explanation, FileWalk, QueryAnswer, Row

    from rocketspec._search import SearchArguments


_STEPS: Final = 12  # entries of a chain that are shown
_COMPRESSED: Final = 1
_WITH_IDS: Final = 3  # messages at most whose ids are shown too


def as_json(answer: QueryAnswer, explanation: Explanation | None, asked: SearchArguments) -> dict[str, Any]:
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
