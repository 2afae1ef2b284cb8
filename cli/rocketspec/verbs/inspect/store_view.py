"""Prints a store or one of its directories for `inspect`: one screen of 80 columns."""

from __future__ import annotations

import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rocket_columnar.formats import iso
from rocket_spec.printable import printable, shell_word

from rocketspec._options import counted
from rocketspec._terminal import say_all
from rocketspec.verbs.inspect.consumers_view import summary

if TYPE_CHECKING:
    from rocket_columnar.consumers import Progress
    from rocket_columnar.describe import IndexView, Overview, QueueView
    from rocket_columnar.findings import Finding


_TOPICS: Final = 15
_PROBLEMS: Final = 5
_NAME_WIDTH: Final = 34
_COLUMNS: Final = 80
_LEAST: Final = 10
_KINDS: Final = {
    "plain": "store",
    "several commit-log directories": "store with several commit-log directories",
}
_HOW: Final = {"given": "given", "inferred": "inferred", "assumed": "ASSUMED, not verified"}


def show_overview(
    seen: Overview,
    findings: Sequence[Finding] | None,
    consumers: Progress | None,
    *,
    options: Sequence[str] = (),
) -> None:
    """Prints the overview; `options` are those that an audit of the store needs too."""
    audit = " ".join(["rocketspec", "audit", *map(shell_word, (str(seen.path), *options))])
    say_all(_lines(seen, name_width=_name_width()))
    waiting = "" if consumers is None else summary(consumers)
    if waiting:
        say_all(_row("consumers", waiting))
    if findings is not None:
        say_all(["", *_problems(findings, audit, whole=not seen.problems)])


def _name_width() -> int:
    """Columns of a topic's name: fewer on a narrow terminal."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else _COLUMNS
    return min(_NAME_WIDTH, max(columns - _COLUMNS + _NAME_WIDTH, _LEAST))


def _lines(seen: Overview, *, name_width: int) -> Iterator[str]:
    name = printable(str(seen.path))
    if seen.clean is None:
        yield name
    else:
        yield f"{name}: {_KINDS.get(seen.kind, seen.kind + ' store')}, {_state(seen)}"
    yield from _log(seen)
    yield from _index(seen)
    yield from _queue_summary(seen)
    if seen.checkpoint is not None:
        yield from _row(
            "checkpoint",
            *(
                f"{what} up to {iso(seen.checkpoint[field])}"
                for what, field in (
                    ("log flushed at least", "physic_msg_timestamp"),
                    ("queues flushed", "logics_msg_timestamp"),
                    ("index flushed", "index_msg_timestamp"),
                )
            ),
        )
    if seen.clean is None and seen.indexes:
        yield from _index_table(seen.indexes)
    if seen.queues:
        several = len({queue.topic for queue in seen.queues}) > 1
        yield from _queue_table(seen.queues, name_width, by_topic=several)
    for file, reason in seen.problems[:_PROBLEMS]:
        yield f"not read: {file}: {reason}"


def _state(seen: Overview) -> str:
    if seen.running == -1:
        return "in use by a process on another machine, or a repair"
    if seen.running:
        return f"in use by process {seen.running}"
    if seen.clean:
        return "stopped cleanly"
    if seen.running is None:
        return "in use or not stopped cleanly (the file abort exists)"
    return "NOT stopped cleanly (the file abort exists, and no process here holds the lock)"


def _row(title: str, *lines: str) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"{title if not number else '':<12}{line}"


def _log(seen: Overview) -> Iterator[str]:
    log = seen.log
    if log is None:
        if seen.clean is not None:
            yield from _row("commit log", "none")
        return
    span = (
        "no records"
        if log.begin_timestamp is None or log.end_timestamp is None
        else f"{iso(log.begin_timestamp)} to {iso(log.end_timestamp)}"
    )
    yield from _row(
        "commit log",
        f"{counted(log.files, 'file')}, {log.size:,} bytes, physical offsets {log.begin:,} to {log.end:,}",
        span,
    )


def _index(seen: Overview) -> Iterator[str]:
    if not seen.indexes:
        if seen.clean is not None:
            yield from _row("index", "no files")
        return
    entries = sum(index.entries for index in seen.indexes)
    size = sum(index.size for index in seen.indexes)
    yield from _row(
        "index",
        f"{counted(len(seen.indexes), 'file')}, {size:,} bytes, {counted(entries, 'entry', 'entries')}",
    )
    if seen.geometry is None:
        yield from _row("", f"geometry unknown: {seen.geometry_problem}")
    else:
        slots, room = seen.geometry.geometry
        yield from _row(
            "",
            f"geometry {slots:,} slots, {room:,} entries ({_HOW[seen.geometry.how]}: {seen.geometry.reason})",
        )
    if seen.index_coverage is not None:
        yield from _row(
            "",
            f"{100 * seen.index_coverage:.1f} % of the log is between the first and the last indexed record",
        )


def _queue_summary(seen: Overview) -> Iterator[str]:
    if not seen.queues:
        if seen.clean is not None:
            yield from _row("queues", "none")
        return
    topics = len({queue.topic for queue in seen.queues})
    files = sum(queue.files for queue in seen.queues)
    messages = sum(queue.messages for queue in seen.queues)
    text = f"{counted(len(seen.queues), 'queue')} of {counted(topics, 'topic')}, {counted(files, 'file')}, {counted(messages, 'message')}"
    yield from _row("queues", text + (f", {counted(seen.ext_files, 'ext file')}" if seen.ext_files else ""))


def _index_table(indexes: Sequence[IndexView]) -> Iterator[str]:
    yield ""
    yield f"{'index file':<17} {'entries':>10}  {'first put':<{len(iso(0))}}  last put"
    for index in indexes:
        yield (
            f"{index.file.rpartition('/')[2]:<17} {index.entries:>10,}  "
            f"{iso(index.begin_timestamp)}  {iso(index.end_timestamp)}"
        )


def _queue_table(queues: Sequence[QueueView], width: int, *, by_topic: bool) -> Iterator[str]:
    groups: dict[str, list[QueueView]] = defaultdict(list)
    for queue in queues:
        groups[queue.topic if by_topic else str(queue.queue_id)].append(queue)
    ordered = list(groups.items())
    if by_topic:
        ordered.sort(key=lambda pair: -sum(queue.messages for queue in pair[1]))
    yield ""
    title = f"{'topic':<{width}} {'queues':>6}" if by_topic else f"{'queue':<{width}} {'files':>6}"
    yield f"{title} {'messages':>11} {'min offset':>11} {'max offset':>11}"
    for name, group in ordered[: _TOPICS if by_topic else None]:
        shown = printable(name, limit=None)
        if cell_len(shown) > width:
            shown = set_cell_size(shown, width - 3) + "..."
        number = len(group) if by_topic else group[0].files
        least, most = min(queue.min_offset for queue in group), max(queue.max_offset for queue in group)
        messages = sum(queue.messages for queue in group)
        yield f"{set_cell_size(shown, width)} {number:>6,} {messages:>11,} {least:>11,} {most:>11,}"
    left = len(ordered) - _TOPICS
    if by_topic and left > 0:
        yield f"and {counted(left, 'more topic')}; --json lists all queues"


def _problems(findings: Sequence[Finding], audit: str, *, whole: bool) -> Iterator[str]:
    serious = [finding for finding in findings if finding.severity != "note"]
    checked = "quick check of names, sizes, headers and the checkpoint"
    if serious:
        yield f"{checked}: {counted(len(serious), 'problem')}; `{audit}` explains them"
    else:
        yield f"{checked}: {'nothing wrong' if whole else 'nothing wrong in the files that were read'}"
    for finding in serious[:_PROBLEMS]:
        yield f"  {finding.severity} {finding.code} {finding.file}"
        yield f"    {finding.message}"
    yield f"not checked: records, units, entries and bodies; `{audit} --deep` checks them"
