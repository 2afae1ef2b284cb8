"""Prints findings by cause, with each cure once, and the prediction of `audit --restart`: as JSON lines, or as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer
from rocket_spec.printable import counted

from rocketspec._options import print_rows, write_json
from rocketspec._terminal import fitted, one_line, say, say_all

if TYPE_CHECKING:
    from rocket_columnar.findings import Finding
    from rocket_columnar.report import AuditReport, FindingGroup, Shell
    from rocket_columnar.restart import Restart


_STYLES: Final = {"error": "red", "warning": "yellow", "note": "blue"}
_HANG: Final = 8
_COMMAND: Final = " " * 10


def summary(counts: Counter[str]) -> str:
    """Numbers of findings by severity, in words."""
    return ", ".join(counted(counts[name], name) for name in _STYLES if counts[name]) or "no findings"


def print_causes(
    report: AuditReport, *, as_json: bool, most: int | None = None, **extra: str
) -> Counter[str]:
    """Prints findings by cause, at most `most` as text, or with `as_json` as JSON lines that begin with `extra`; their number by severity."""
    counts = report.counts
    if as_json:
        for finding in report:
            write_json({**extra, **finding.row()})
        return counts
    left = counts.total() if most is None else most
    hidden = 0
    for cause in report.causes:
        shown = cause.roots[: max(left, 0)]
        left -= len(shown)
        hidden += len(cause.roots) - len(shown)
        if shown:
            for line in _lines(cause, shown):
                typer.echo(_styled(line))
    if hidden:
        typer.echo(f"and {counted(hidden, 'more finding')}; --max-findings N shows more, --json shows all")
    return counts


def _styled(line: str) -> str:
    """A line for the terminal, with its severity in colour; a command stays whole."""
    if line.startswith(_COMMAND):
        return line
    shown, (severity, _, _) = fitted(line, hang=_HANG), line.partition(" ")
    return typer.style(severity, fg=_STYLES[severity]) + shown.removeprefix(severity) if severity else shown


def _lines(cause: FindingGroup, shown: Sequence[Finding]) -> Iterator[str]:
    if cause.title:
        yield f"{cause.severity:7} {one_line(cause.title)}"
    for finding in shown:
        place = one_line(finding.file) + ("" if finding.offset is None else f" at byte {finding.offset:,}")
        clause = f" ({finding.clause})" if finding.clause else ""
        severity = "" if cause.title else finding.severity
        yield f"{severity:7} {finding.code}{clause}  {place}"
        yield f"        {one_line(finding.message)}"
    if cause.consequences:
        parts = ", ".join(f"{number:,} {code}" for code, number in cause.counts().most_common())
        follows = counted(len(cause.consequences), "finding follows", "findings follow")
        yield f"        {follows} from it: {parts}"
    if cause.cure:
        yield f"        cure: {one_line(cause.cure)}"
    for command in cause.commands:
        yield f"{_COMMAND}{command}"
    if cause.otherwise:
        yield f"        otherwise: {one_line(cause.otherwise)}"
    for command in cause.other_commands:
        yield f"{_COMMAND}{command}"


_SHOWN: Final = 20
_NO_START: Final = float("inf")


def show(
    usual: Restart,
    safe: Restart,
    shell: Shell,
    *,
    as_json: bool,
    index_safe: bool = False,
    indexing: bool = True,
) -> None:
    """Prints the plan of a start, with messageIndexSafe (`safe`) or without (`usual`), and how the other value would change it.

    `index_safe` is whether the broker has messageIndexSafe, `indexing` whether it makes index files; `shell` builds the cure's commands.
    """
    if as_json:
        from rocket_columnar.restart import rows_of

        print_rows(rows_of(safe if index_safe else usual, safe), (), as_json=True)
        return
    plan, other = (safe, usual) if index_safe else (usual, safe)
    _show_text(plan)
    if plan.refused is None and not plan.clean:
        which, without = ("without", "with") if index_safe else ("with", "without")
        costs = _loses_log(other) - _loses_log(plan)
        if costs == _NO_START:
            say(f"{which} messageIndexSafe: the broker does not start: {other.refused}")
        else:
            more = f" and {counted(other.unread, 'byte')} of the log" if other.unread else ""
            say(
                f"{which} messageIndexSafe: dispatch restarts at {other.dispatch_from:,}, {counted(len(other.lost), 'key')}{more} lost "
                f"({without}: {len(plan.lost):,})"
            )
        if index_safe and costs < 0:
            say(
                "cure: switch messageIndexSafe off for this start, which then does not read the damaged part of the log"
            )
            typer.echo(f"  {shell.setting('messageIndexSafe', 'false')}")
        elif len(plan.lost) and not index_safe and not len(other.lost) and costs <= 0:
            say("cure: set messageIndexSafe before the start, which then takes longer")
            typer.echo(f"  {shell.setting('messageIndexSafe', 'true')}")
        elif len(plan.lost) and not indexing:
            say(
                "cure: copy these index files before the start: with messageIndexEnable=false the broker makes no others"
            )
        elif len(plan.lost):
            say("cure: start the broker, stop it cleanly, and rebuild the index as an audit then prints it")
            typer.echo(f"  {shell.verb('audit')}")


def _loses_log(plan: Restart) -> float:
    """Bytes of the log that a start loses."""
    return plan.unread if plan.refused is None else _NO_START


def show_gone(gone: Mapping[str, int], *, as_json: bool) -> None:
    """Prints the number of messages that go with each file."""
    rows = ({"without": name, "messages": count} for name, count in gone.items())
    lines = (
        f"gone with {name}: {counted(count, 'message')}, which no start brings back to consumers"
        for name, count in gone.items()
    )
    print_rows(rows, lines, as_json=as_json)


def show_running(store: Path, reason: str, *, as_json: bool) -> None:
    """States that a broker runs, and that no start is predicted beside it."""
    running = (
        f"{store}: a broker is running ({reason}): what a start would do changes with every message, and is not "
        "predicted; stop the broker, or copy the store"
    )
    second = (
        "never start a second broker on this store: before it fails at the lock it deletes the index file in use and the "
        "log file made ahead, and what the running one then writes into them is gone at its next start"
    )
    print_rows([{"running": reason}], [running, second], as_json=as_json)


def answer(plan: Restart) -> str:
    """Whether a broker starts on the store, and what it loses, in one sentence without its end."""
    if plan.refused is not None:
        return "a broker does not start on this store"
    units = sum(unit.count for unit in plan.lost_units)
    lost = [
        (units, "unit of queues", "units of queues"),
        (len(plan.lost), "key", "keys"),
        (plan.unread, "byte of the log", "bytes of the log"),
    ]
    text = ", ".join(counted(*one) for one in lost if one[0])
    text = text or ("nothing more" if plan.missing or plan.damaged else "nothing")
    if plan.zeros:
        text += f"; pulls fail in {counted(len(plan.zeros), 'queue')}"
    fewer = sum(read > 0 for read in plan.unlisted.values())
    if len(plan.unlisted) > fewer:
        text += f"; the list of topics lacks {counted(len(plan.unlisted) - fewer, 'topic')}, whose messages cannot be consumed"
    if fewer:
        text += f"; the list of topics lacks queues of {counted(fewer, 'topic')}, whose messages cannot be consumed"
    if plan.missing:
        text += f"; {counted(plan.missing, 'byte of the log is', 'bytes of the log are')} missing already, and a start does not notice"
    if plan.damaged:
        text += f"; files are damaged already ({', '.join(plan.damaged)})"
        text += (
            f", and it does not deliver {counted(plan.undelivered, 'message')} of the log"
            if plan.undelivered
            else ""
        )
    if plan.beyond is not None:
        text += f"; then no message is dispatched until the log is longer than {plan.beyond:,} (STORE-14)"
    if not plan.blocked:
        return f"a broker starts, and loses {text}"
    return f"a broker starts, but {'; '.join(plan.blocked)}" + (
        "" if text == "nothing" else f"; it loses {text}"
    )


def _unlisted_line(topic: str, read: int) -> str:
    """A topic of which pulls fail; `read` is the number of its queues in the list of topics."""
    if not read:
        until = " until a push consumer of the group starts" if topic.startswith("%RETRY%") else ""
        return (
            f"topic {topic} is not in the list of topics: none of its messages can be consumed{until} (CFG-1)"
        )
    return (
        f"topic {topic} has {counted(read, 'queue')} to read in the list of topics: no message of its others "
        "can be consumed (CFG-1)"
    )


def _show_text(plan: Restart) -> None:
    say(answer(plan))
    say("the last stop was clean" if plan.clean else "found an abort file: a start will recover")
    if plan.refused is not None:
        say(f"a broker will not start on these files: {plan.refused}")
    for deletion in plan.deletions:
        place = deletion.file if deletion.offset is None else f"{deletion.file} from byte {deletion.offset:,}"
        say(f"{deletion.action} {place}: {deletion.reason}")
    if plan.refused is not None:
        return
    say(f"the log is read from {plan.walk_from:,} and ends at {plan.log_end:,}")
    say(f"dispatch {'starts' if plan.clean else 'restarts'} at {plan.dispatch_from:,}")
    for name in plan.zeros:
        say(f"{name}: its first 20 bytes, zeros, become a unit: every pull there fails (CQ-TRUNC-3)")
    say_all((*starmap(_unlisted_line, plan.unlisted.items()), *plan.forgotten))
    for unit in plan.lost_units:
        say(
            f"lost: {counted(unit.count, 'unit')} of {unit.topic} queue {unit.queue_id} from logical offset {unit.first:,}, starting with "
            f"the record at physical offset {unit.phy_offset:,}: {unit.reason}"
        )
    for key in islice(plan.lost, _SHOWN):
        text = f"key {key.key!r}" if key.key is not None else f"the key with hash {key.key_hash}"
        say(f"lost: {text} of {key.topic}, the record at physical offset {key.phy_offset:,}")
    if len(plan.lost) > _SHOWN:
        say(f"lost: {counted(len(plan.lost) - _SHOWN, 'more key')}; --json lists them all")
