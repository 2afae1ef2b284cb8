"""Prints a store or one of its directories for `inspect`: one screen of 80 columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rocket_columnar.formats import iso
from rocket_columnar.store import DELETE_WHEN, RESERVED_HOURS
from rocket_spec.printable import counted, printable, shell_word

from rocketspec._tables import columns
from rocketspec._terminal import say, say_all, terminal_width

if TYPE_CHECKING:
    from rocket_columnar.consumers import Progress
    from rocket_columnar.describe import IndexView, Overview, QueueView, Space
    from rocket_columnar.report import AuditReport
    from rocket_columnar.store import BrokerConf


_TOPICS: Final = 15
_PROBLEMS: Final = 5
_KINDS: Final = {
    "plain": "store",
    "several commit-log directories": "store with several commit-log directories",
}
_HOW: Final = {"given": "given", "inferred": "inferred", "assumed": "ASSUMED, not verified"}


def show_overview(
    seen: Overview,
    report: AuditReport | None,
    consumers: Progress | None,
    *,
    options: Sequence[str] = (),
) -> None:
    """Prints the overview; `options` are those that an audit of the store needs too."""
    audit = " ".join(["rocketspec", "audit", *map(shell_word, (str(seen.path), *options))])
    say_all(_lines(seen))
    waiting = "" if consumers is None else summary(consumers)
    if waiting:
        say_all(_row("consumers", waiting))
    if report is not None:
        say_all(["", *_problems(report, audit, whole=not seen.problems)])


def _lines(seen: Overview) -> Iterator[str]:
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
        yield from _queue_table(seen.queues, by_topic=several)
    for file, reason in seen.problems[:_PROBLEMS]:
        yield f"not read: {file}: {reason}"
    if len(seen.problems) > _PROBLEMS:
        yield f"not read: {counted(len(seen.problems) - _PROBLEMS, 'more file')}"


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
        elif seen.ext_files:
            yield from _row("ext files", f"{seen.ext_files:,}; `rocketspec decode` prints their units")
        return
    topics = len({queue.topic for queue in seen.queues})
    files = sum(queue.files for queue in seen.queues)
    messages = sum(queue.messages for queue in seen.queues)
    text = f"{counted(len(seen.queues), 'queue')} of {counted(topics, 'topic')}, {counted(files, 'file')}, {counted(messages, 'message')}"
    yield from _row("queues", text + (f", {counted(seen.ext_files, 'ext file')}" if seen.ext_files else ""))


def _index_table(indexes: Sequence[IndexView]) -> Iterator[str]:
    yield ""
    rows = [
        (
            index.file.rpartition("/")[2],
            f"{index.entries:,}",
            iso(index.begin_timestamp),
            iso(index.end_timestamp),
        )
        for index in indexes
    ]
    yield from columns([("index file", "entries", "first put", "last put"), *rows], right={1})


def _numbers(rows: Sequence[Sequence[str]], texts: int) -> Iterator[str]:
    """Rows of texts, the first of which is cut on a narrow terminal, and then numbers."""
    count = len(rows[0])
    return columns(rows, right=range(texts, count), whole=range(1, count), width=terminal_width())


def _queue_table(queues: Sequence[QueueView], *, by_topic: bool) -> Iterator[str]:
    groups: dict[str, list[QueueView]] = defaultdict(list)
    for queue in queues:
        groups[queue.topic if by_topic else str(queue.queue_id)].append(queue)
    ordered = list(groups.items())
    if by_topic:
        ordered.sort(key=lambda pair: -sum(queue.messages for queue in pair[1]))
    rows: list[tuple[str, ...]] = [
        (*(("topic", "queues") if by_topic else ("queue", "files")), "messages", "min offset", "max offset")
    ]
    for name, group in ordered[: _TOPICS if by_topic else None]:
        least, most = min(queue.min_offset for queue in group), max(queue.max_offset for queue in group)
        numbers = (
            len(group) if by_topic else group[0].files,
            sum(queue.messages for queue in group),
            least,
            most,
        )
        rows.append((printable(name, limit=None), *(f"{number:,}" for number in numbers)))
    yield ""
    yield from _numbers(rows, 1)
    left = len(ordered) - _TOPICS
    if by_topic and left > 0:
        yield f"and {counted(left, 'more topic')}; --json lists all queues"


def _problems(report: AuditReport, audit: str, *, whole: bool) -> Iterator[str]:
    serious = [finding for finding in report if finding.severity != "note"]
    checked = "quick check of names, sizes, headers and the checkpoint"
    if serious:
        yield f"{checked}: {counted(len(serious), 'problem')}; `{audit}` explains {'it' if len(serious) == 1 else 'them'}"
    else:
        yield f"{checked}: {'nothing wrong' if whole else 'nothing wrong in the files that were read'}"
    for finding in serious[:_PROBLEMS]:
        yield f"  {finding.severity} {finding.code} {finding.file}"
        yield f"    {finding.message}"
    _, *others = report.unchecked
    yield from (f"not checked: {part}" for part in others)
    yield f"not checked: records, units, entries and bodies; `{audit} --deep` checks them"


_HALVES: Final = 10
_SYSTEM: Final = "CID_RMQ_SYS_"


def summary(seen: Progress) -> str:
    """One line for the overview; empty if nothing waits."""
    behind: dict[str, int] = defaultdict(int)
    for lag in seen.groups:
        if not lag.group.startswith(_SYSTEM):
            behind[lag.group] += max(lag.messages, 0)
    parts = []
    if behind:
        last = max(behind, key=lambda group: behind[group])
        late = counted(sum(map(bool, behind.values())), "group")
        parts.append(
            f"{late} of {len(behind):,} behind, {printable(last)} by {counted(behind[last], 'message')}"
        )
    waiting, overdue = (
        sum(getattr(level, name) for level in (*seen.delays, *filter(None, [seen.timers])))
        for name in ("messages", "overdue")
    )
    if waiting:
        parts.append(f"{waiting:,} delayed ({overdue:,} overdue)")
    if seen.open_halves:
        parts.append(f"{counted(seen.open_halves, 'open half message')}")
    dead = sum(failed.dead for failed in seen.failed)
    if dead:
        parts.append(counted(dead, "dead letter"))
    return "; ".join(parts)


def chosen(seen: Progress, group: str | None, topic: str | None) -> dict[str, Any]:
    """Plain values of the groups and topics that match two globs; without a topic also values that belong to none."""
    row = seen.row()
    row["groups"] = [
        lag
        for lag in row["groups"]
        if fnmatchcase(lag["group"], group or "*") and fnmatchcase(lag["topic"], topic or "*")
    ]
    row["totals"] = totals(row["groups"])
    row["halves"] = [half for half in row["halves"] if fnmatchcase(half["topic"] or "", topic or "*")]
    if topic is not None:
        row["delays"] = row["failed"] = []
        row["timers"] = None
    row["failed"] = [failed for failed in row["failed"] if fnmatchcase(failed["group"], group or "*")]
    return row


def totals(lags: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """The unread and expired messages of each group, and the bytes of the unread ones, over all its queues."""
    groups: dict[str, dict[str, int]] = {}
    for lag in lags:
        total = groups.setdefault(lag["group"], {"messages": 0, "size": 0, "expired": 0})
        for name in total:
            total[name] += max(lag[name] or 0, 0)
    return groups


def show_consumers(row: dict[str, Any]) -> None:
    """Prints the tables of groups, delay levels, half messages and failed messages, and what a group lacks in all."""
    width = terminal_width()
    for table in (_groups(row), _delays(row), _halves(row), _failed(row)):
        if len(table.rows) > 1:
            whole = [place for place in range(len(table.rows[0])) if place not in table.cut]
            say_all([*columns(table.rows, right=table.right, whole=whole, width=width), *table.after, ""])


class _TextTable(NamedTuple):
    """Rows, the first of which are names; the numbers of columns set to the right and of texts that may be cut; last lines."""

    rows: Sequence[Sequence[str]]
    right: Collection[int]
    cut: Collection[int] = ()
    after: Sequence[str] = ()


def _groups(row: dict[str, Any]) -> _TextTable:
    rows = [
        (
            printable(lag["group"]),
            printable(lag["topic"]),
            str(lag["queue_id"]),
            f"{lag['offset']:,}",
            f"{lag['messages']:,}",
            _time(lag["first_timestamp"]),
        )
        for lag in row["groups"]
    ]
    after = [
        f"{printable(group)}: {counted(total['messages'], 'message')} behind, {counted(total['size'], 'byte')}; "
        f"{total['expired']:,} expired unread"
        for group, total in row["totals"].items()
    ]
    head = ("group", "topic", "queue", "offset", "behind", "oldest unread")
    return _TextTable([head, *rows], (2, 3, 4), (0, 1), after)


def _delays(row: dict[str, Any]) -> _TextTable:
    rows = [
        (
            str(level.get("delay_level", "timer")),
            f"{level['messages']:,}",
            f"{level['overdue']:,}",
            _time(level["next_due"]),
            _time(level["last_due"]),
        )
        for level in (*row["delays"], *filter(None, [row["timers"]]))
    ]
    return _TextTable([("level", "waiting", "overdue", "next due", "last due"), *rows], (0, 1, 2))


def _halves(row: dict[str, Any]) -> _TextTable:
    halves = row["halves"]
    left = row["open_halves"] - _HALVES
    rows = [
        (
            printable(half["topic"] or "?"),
            f"{half['queue_offset']:,}",
            f"{half['phy_offset']:,}",
            str(half["checks"]),
            _time(half["store_timestamp"]),
            half["uniq_key"] or "-",
        )
        for half in halves[:_HALVES]
    ]
    head = ("topic", "half", "phy offset", "checks", "stored", "unique key")
    after = [f"and {left:,} more; --json lists the first 1,000"] if left > 0 and halves else []
    return _TextTable([head, *rows], (1, 2, 3), (0,), after)


def _failed(row: dict[str, Any]) -> _TextTable:
    rows = [(printable(one["group"]), f"{one['retries']:,}", f"{one['dead']:,}") for one in row["failed"]]
    return _TextTable([("group", "retries", "dead letters"), *rows], (1, 2), (0,))


def _time(timestamp: int | None) -> str:
    return "-" if timestamp is None else iso(timestamp)


_SHOWN: Final = 15
_HOUR: Final = 3_600_000  # ms


def space_as_json(found: Space, conf: BrokerConf | None) -> dict[str, Any]:
    """All of it as one object; each log file with the time from which a broker may delete it, in ms."""
    reserved = _HOUR * (RESERVED_HOURS if conf is None else conf.reserved_hours)
    return asdict(found) | {
        "aging": [asdict(file) | {"expires": file.modified + reserved} for file in found.aging]
    }


def show_space(found: Space, conf: BrokerConf | None) -> None:
    """Prints the topics and queues with most bytes, and what expires next."""
    topics: dict[str, Counter[str]] = {}
    for queue in found.queues:
        numbers = {name: value for name, value in asdict(queue).items() if isinstance(value, int)}
        topics.setdefault(queue.topic, Counter()).update(numbers)
    ordered = sorted(topics.items(), key=lambda pair: -pair[1]["log_bytes"])
    _table(["topic"], [((topic,), numbers) for topic, numbers in ordered], found.log_bytes)
    say("")
    queues = [((queue.topic, str(queue.queue_id)), asdict(queue)) for queue in found.queues]
    _table(["topic", "queue"], queues, found.log_bytes)
    rest = found.log_bytes - sum(queue.log_bytes for queue in found.queues)
    say("")
    say(
        f"commit log    {found.log_bytes:,} bytes, of which {max(rest, 0):,} are blanks or records without a unit"
    )
    hours, when = (RESERVED_HOURS, DELETE_WHEN) if conf is None else (conf.reserved_hours, conf.delete_when)
    if found.aging:
        file = found.aging[0]
        say(
            f"expires next  {file.file}, {file.size:,} bytes: last modified {iso(file.modified)}, expires "
            f"{iso(file.modified + _HOUR * hours)} (fileReservedTime {hours}); a broker deletes expired files in the hours "
            f"{when} of its local time (deleteWhen), and when its disk is nearly full"
        )
    else:
        say("expires next  nothing: the last file of the commit log stays")
    spare = ", ".join(found.spare_indexes) or "none"
    say(f"index files   not needed any more, their records are gone: {spare}")


def _table(
    names: list[str], found: Sequence[tuple[Sequence[str], Mapping[str, Any]]], log_bytes: int
) -> None:
    rows = [(*names, "messages", "log bytes", "share", "expired")]
    for texts, row in found[:_SHOWN]:
        share = f"{100 * row['log_bytes'] / max(log_bytes, 1):.1f}%"
        shown = (printable(text, limit=None) for text in texts)
        rows.append((*shown, f"{row['messages']:,}", f"{row['log_bytes']:,}", share, f"{row['expired']:,}"))
    say_all(_numbers(rows, len(names)))
    if len(found) > _SHOWN:
        say(f"and {counted(len(found) - _SHOWN, 'more ' + names[-1])}; --json lists all queues")
