"""How `inspect` shows groups, delayed messages and transactions: a line of the overview, or tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.formats import iso
from rocket_spec.printable import printable

from rocketspec._options import counted
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
    """What concerns groups and topics that match two globs, as plain values; without a topic also what has none."""
    row = seen.row()
    row["groups"] = [
        lag
        for lag in row["groups"]
        if fnmatchcase(lag["group"], group or "*") and fnmatchcase(lag["topic"], topic or "*")
    ]
    row["halves"] = [half for half in row["halves"] if fnmatchcase(half["topic"] or "", topic or "*")]
    if topic is not None:
        row["delays"] = row["failed"] = []
    row["failed"] = [failed for failed in row["failed"] if fnmatchcase(failed["group"], group or "*")]
    return row


def show_consumers(row: dict[str, Any]) -> None:
    """Prints the tables of groups, delay levels, half messages and failed messages."""
    for title, lines in _tables(row):
        if lines:
            say_all([title, *lines, ""])


def _tables(row: dict[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    yield (
        f"{'messages':>11} {'bytes':>13} {'expired':>9} {'offset':>11}  {'oldest unread':<24}  group, topic, queue",
        [
            f"{lag['messages']:>11,} {lag['size'] or 0:>13,} {lag['expired']:>9,} {lag['offset']:>11,}  "
            f"{_time(lag['first_timestamp']):<24}  {printable(lag['group'])}, {printable(lag['topic'])}, {lag['queue_id']}"
            for lag in row["groups"]
        ],
    )
    yield (
        f"{'level':>11} {'waiting':>13} {'overdue':>9} {'offset':>11}  {'next due':<24}  last due",
        [
            f"{level['delay_level']:>11} {level['messages']:>13,} {level['overdue']:>9,} {level['offset']:>11,}  "
            f"{_time(level['next_due']):<24}  {_time(level['last_due'])}"
            for level in row["delays"]
        ],
    )
    halves = row["halves"]
    left = row["open_halves"] - _HALVES
    yield (
        f"{'half':>11} {'phy offset':>13} {'checks':>9} {'':>11}  {'stored':<24}  topic, unique key",
        [
            f"{half['queue_offset']:>11,} {half['phy_offset']:>13,} {half['checks']:>9} {'':>11}  "
            f"{_time(half['store_timestamp']):<24}  {printable(half['topic'] or '?')}, {half['uniq_key'] or '-'}"
            for half in halves[:_HALVES]
        ]
        + ([f"and {left:,} more; --json lists the first 1,000"] if left > 0 and halves else []),
    )
    yield (
        f"{'retries':>11} {'dead letters':>13}  group",
        [f"{one['retries']:>11,} {one['dead']:>13,}  {printable(one['group'])}" for one in row["failed"]],
    )


def _time(timestamp: int | None) -> str:
    return "-" if timestamp is None else iso(timestamp)
