"""How `inspect` shows groups, delayed messages and transactions: a few lines of the overview, or tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.formats import iso
from rocket_spec.printable import printable

from rocketspec._options import counted
from rocketspec._terminal import say

if TYPE_CHECKING:
    from rocket_columnar.consumers import GroupLag, Progress

_FURTHEST: Final = 3
_HALVES: Final = 10
_SYSTEM: Final = "CID_RMQ_SYS_"


def summary(seen: Progress) -> Iterator[tuple[str, str]]:
    """The lines of the overview: title, text."""
    lags: dict[tuple[str, str], list[GroupLag]] = defaultdict(list)
    for lag in seen.groups:
        if not lag.group.startswith(_SYSTEM):
            lags[lag.group, lag.topic].append(lag)
    if lags:
        behind = {pair: sum(max(lag.messages, 0) for lag in some) for pair, some in lags.items()}
        late = [pair for pair in sorted(behind, key=lambda pair: -behind[pair]) if behind[pair]]
        groups = len({group for group, _ in lags})
        yield (
            "groups",
            f"{counted(groups, 'group')}, {counted(len(late), 'of them behind a topic', 'times behind a topic')}",
        )
        for group, topic in late[:_FURTHEST]:
            first = min(
                (lag.first_timestamp for lag in lags[group, topic] if lag.first_timestamp), default=None
            )
            since = "" if first is None else f", oldest unread stored {iso(first)}"
            number = counted(behind[group, topic], "message")
            yield "", f"{printable(group)} is {number} behind in {printable(topic)}{since}"
    waiting = sum(level.messages for level in seen.delays)
    if waiting:
        overdue = sum(level.overdue for level in seen.delays)
        due = min(level.next_due for level in seen.delays if level.next_due is not None)
        yield (
            "delayed",
            f"{counted(waiting, 'message')} waiting, {overdue:,} overdue, the first due {iso(due)}",
        )
    if seen.open_halves:
        yield "transactions", f"{counted(seen.open_halves, 'half message')} open"
    for failed in seen.failed:
        if failed.retries or failed.dead:
            text = f"{counted(failed.retries, 'retry', 'retries')} waiting, {counted(failed.dead, 'dead letter')}"
            yield "failed", f"{printable(failed.group)}: {text}"


def chosen(seen: Progress, group: str | None, topic: str | None) -> dict[str, Any]:
    """What concerns a group, a topic or both, as plain values."""
    row = seen.row()
    row["groups"] = [
        lag for lag in row["groups"] if group in (None, lag["group"]) and topic in (None, lag["topic"])
    ]
    row["delays"] = []
    row["halves"] = [half for half in row["halves"] if topic in (None, half["topic"]) and group is None]
    row["failed"] = [failed for failed in row["failed"] if group in (None, failed["group"]) and topic is None]
    return row


def show_consumers(row: dict[str, Any]) -> None:
    """Prints the tables of groups, delay levels, half messages and failed messages."""
    for title, lines in _tables(row):
        if lines:
            say(title)
            for line in lines:
                say(line)
            say("")


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
