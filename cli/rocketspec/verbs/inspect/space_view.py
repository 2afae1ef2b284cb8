"""Prints the disk use of `inspect --space`: as JSON, or as tables of 80 columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len, set_cell_size
from rocket_columnar.formats import iso
from rocket_columnar.store import DELETE_WHEN, RESERVED_HOURS
from rocket_spec.printable import printable

from rocketspec._options import counted
from rocketspec._terminal import say

if TYPE_CHECKING:
    from rocket_columnar.describe import Space
    from rocket_columnar.store import BrokerConf


_SHOWN: Final = 15
_NAME_WIDTH: Final = 28
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
    _table("topic", sorted(topics.items(), key=lambda pair: -pair[1]["log_bytes"]), found.log_bytes)
    say("")
    _table(
        "queue",
        [(f"{queue.topic}/{queue.queue_id}", Counter(asdict(queue))) for queue in found.queues],
        found.log_bytes,
    )
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


def _table(title: str, rows: list[tuple[str, Counter[str]]], log_bytes: int) -> None:
    say(f"{title:<{_NAME_WIDTH}} {'messages':>11} {'log bytes':>17} {'share':>6} {'expired':>9}")
    for name, row in rows[:_SHOWN]:
        share = 100 * row["log_bytes"] / max(log_bytes, 1)
        shown = printable(name, limit=None)
        if cell_len(shown) > _NAME_WIDTH:  # the end of a queue's name is its number
            shown = f"{set_cell_size(shown, 14)}...{shown[-11:]}"
        say(
            f"{set_cell_size(shown, _NAME_WIDTH)} {row['messages']:>11,} {row['log_bytes']:>17,} {share:>5.1f}% {row['expired']:>9,}"
        )
    if len(rows) > _SHOWN:
        say(f"and {counted(len(rows) - _SHOWN, 'more ' + title)}; --json lists all queues")
