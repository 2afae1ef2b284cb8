"""Prints groups, delayed messages and transactions for `inspect`: a line of the overview, or tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rocket_columnar.formats import iso
from rocket_spec.printable import printable

from rocketspec._options import counted
from rocketspec._tables import columns
from rocketspec._terminal import say_all

if TYPE_CHECKING:
    from rocket_columnar.consumers import Progress

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
        sum(getattr(level, name) for level in seen.delays) for name in ("messages", "overdue")
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
    width = get_terminal_size().columns
    for table in (_groups(row), _delays(row), _halves(row), _failed(row)):
        if len(table.rows) > 1:
            whole = [place for place in range(len(table.rows[0])) if place not in table.cut]
            say_all([*columns(table.rows, right=table.right, whole=whole, width=width), *table.after, ""])


class _Table(NamedTuple):
    """Rows, the first of which are names; the numbers of columns set to the right and of texts that may be cut; last lines."""

    rows: Sequence[Sequence[str]]
    right: Collection[int]
    cut: Collection[int] = ()
    after: Sequence[str] = ()


def _groups(row: dict[str, Any]) -> _Table:
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
    return _Table([head, *rows], (2, 3, 4), (0, 1), after)


def _delays(row: dict[str, Any]) -> _Table:
    rows = [
        (
            str(level["delay_level"]),
            f"{level['messages']:,}",
            f"{level['overdue']:,}",
            _time(level["next_due"]),
            _time(level["last_due"]),
        )
        for level in row["delays"]
    ]
    return _Table([("level", "waiting", "overdue", "next due", "last due"), *rows], (0, 1, 2))


def _halves(row: dict[str, Any]) -> _Table:
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
    return _Table([head, *rows], (1, 2, 3), (0,), after)


def _failed(row: dict[str, Any]) -> _Table:
    rows = [(printable(one["group"]), f"{one['retries']:,}", f"{one['dead']:,}") for one in row["failed"]]
    return _Table([("group", "retries", "dead letters"), *rows], (1, 2), (0,))


def _time(timestamp: int | None) -> str:
    return "-" if timestamp is None else iso(timestamp)
