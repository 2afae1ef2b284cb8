"""What dispatch does at each thing that it can meet in the log, as a table.

`reput` follows it, and SPEC.md's diagram is drawn from it. Standard library only.

Source: DefaultMessageStore.ReputMessageService.doReput 2024-2101 of 4.9.3.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from rocket_reference.dispatch import DispatchRequest


class Met(Enum):
    """What a request shows about the place that it was read at; the value is its text in the diagram."""

    RECORD = "success, size above 0"
    BLANK = "success, size 0 (a blank)"
    MISMATCH = "failure with a size (lengths that do not add up)"
    UNREADABLE = "failure without a size"


class Move(Enum):
    """How far the position moves; the value is its text in the diagram."""

    SIZE = "position + size"
    NEXT_FILE = "position to the next file"
    UNREAD = "position + unread bytes"
    STAY = "position stays"


class Reading(Enum):
    """Where the pass reads on."""

    BEHIND_THE_RECORD = "read"
    BEHIND_THE_FIELDS = "read, after the fields"
    NEXT_BUFFER = "take a buffer"
    STOPPED = "stopped"


class Turn(NamedTuple):
    """What a pass does at something that it met.

    Attributes:
        dispatches: whether the request goes to the dispatchers, before the position moves.
        move: how the position moves.
        counts: whether the bytes count as read in this buffer.
        then: where it reads on.
        clause: what holds it.
    """

    dispatches: bool
    move: Move
    counts: bool
    then: Reading
    clause: str


MASTER: Final[Mapping[Met, Turn]] = {
    Met.RECORD: Turn(True, Move.SIZE, True, Reading.BEHIND_THE_RECORD, "LOG-DSP-8"),
    Met.BLANK: Turn(False, Move.NEXT_FILE, False, Reading.NEXT_BUFFER, "LOG-DSP-8"),
    Met.MISMATCH: Turn(False, Move.SIZE, False, Reading.BEHIND_THE_FIELDS, "LOG-DSP-10"),
    Met.UNREADABLE: Turn(False, Move.UNREAD, False, Reading.STOPPED, "LOG-DSP-11"),
}
"""With brokerId 0."""

SLAVE: Final[Mapping[Met, Turn]] = {
    **MASTER,
    Met.UNREADABLE: Turn(False, Move.STAY, False, Reading.STOPPED, "LOG-DSP-11"),
}
"""With any other brokerId."""


def met(request: DispatchRequest) -> Met:
    """What a request shows. Source: doReput 2049-2097."""
    if request.success:
        return Met.RECORD if request.msg_size > 0 else Met.BLANK
    return Met.MISMATCH if request.msg_size > 0 else Met.UNREADABLE
