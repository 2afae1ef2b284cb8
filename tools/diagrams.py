"""Writes the state diagrams into SPEC.md: `python -m tools.diagrams`.

They stand between `<!-- diagram: NAME -->` and `<!-- end diagram -->`, in Mermaid, and come from the tables that the
reference itself follows: `dispatch_steps` and `start_steps`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rocket_reference.dispatch_steps import MASTER, SLAVE, Reading
from rocket_reference.start_steps import START, STOPS, Step
from rocket_spec.errors import MalformedError

from tools.make_tables import rewrite

_BLOCK: Final = re.compile(r"<!-- diagram: (?P<name>[^>]+) -->\n.*?<!-- end diagram -->", re.DOTALL)


def dispatch_diagram() -> str:
    """What a pass does at each thing that it meets, master and slave."""
    return _mermaid(_dispatch_lines())


def _dispatch_lines() -> Iterator[str]:
    names = {
        Reading.NEXT_BUFFER: "buffer",
        Reading.BEHIND_THE_RECORD: "read",
        Reading.BEHIND_THE_FIELDS: "read",
        Reading.STOPPED: "stopped",
    }
    yield 'state "take the rest of the file as a buffer" as buffer'
    yield 'state "read a record" as read'
    yield 'state "stopped until the next attempt" as stopped'
    yield "[*] --> buffer : position before the log - its first file (LOG-DSP-9)"
    yield "buffer --> read"
    for what in MASTER:
        turns = (
            {"": MASTER[what]}
            if MASTER[what] == SLAVE[what]
            else {"master, ": MASTER[what], "slave, ": SLAVE[what]}
        )
        for role, turn in turns.items():
            parts = [
                *(["dispatch"] if turn.dispatches else []),
                turn.move.value,
                *(["continues after the fields"] if turn.then is Reading.BEHIND_THE_FIELDS else []),
            ]
            yield f"read --> {names[turn.then]} : {role}{what.value} - {', '.join(parts)} ({turn.clause})"
    yield "read --> stopped : exception in a dispatcher - position stays (LOG-DSP-14)"
    yield "read --> buffer : buffer read to its end"
    yield "buffer --> stopped : write position reached"
    yield "stopped --> buffer : 1 ms later"


def start_diagram() -> str:
    """The steps of a start, from the load to the shutdown."""
    return _mermaid(_start_lines())


def _start_lines() -> Iterator[str]:
    for step in Step:
        if step.value != step.name.lower():
            yield f'state "{step.value}" as {step.name.lower()}'
    yield f"[*] --> {next(iter(START)).name.lower()}"
    for step, turns in START.items():
        for outcome, turn in turns.items():
            why = " - ".join(filter(None, (outcome.value, turn.remark)))
            yield f"{step.name.lower()} --> {turn.to.name.lower()}" + (f" : {why}" if why else "")
    for step, why in STOPS.items():
        yield f"{step.name.lower()} --> [*] : {why}"


def _mermaid(lines: Iterator[str]) -> str:
    return "\n".join(("```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"))


DIAGRAMS: Final[Mapping[str, Callable[[], str]]] = {"dispatch": dispatch_diagram, "start": start_diagram}


def refreshed(text: str) -> str:
    """The document with every diagram drawn anew.

    Raises:
        MalformedError: when a block names no diagram, or a diagram has no block.
    """
    named = [match["name"] for match in _BLOCK.finditer(text)]
    if sorted(named) != sorted(DIAGRAMS):
        raise MalformedError(
            file="spec/SPEC.md", found=f"diagrams {', '.join(named)}", expected=", ".join(DIAGRAMS)
        )
    return _BLOCK.sub(
        lambda match: f"<!-- diagram: {match['name']} -->\n{DIAGRAMS[match['name']]()}\n<!-- end diagram -->",
        text,
    )


def main() -> None:
    """Writes the diagrams."""
    rewrite(refreshed)


if __name__ == "__main__":
    main()
