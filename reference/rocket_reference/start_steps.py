"""The steps of a start as a table: `store_start` walks it, and SPEC.md's diagram is drawn from it.

Standard library only; no step is made here.

Source: DefaultMessageStore.load 190-227, recover 1457-1467, start 232-305, shutdown 307-353 of 4.9.3.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class Step(Enum):
    """What a start does next; the value is its text in the diagram."""

    LOAD_LOG = "commit log: load"
    LOAD_QUEUES = "consume queues: load"
    OPEN_CHECKPOINT = "checkpoint: open"
    LOAD_INDEX = "index files: load (IDX-SVC-5, IDX-SVC-6)"
    RECOVER_QUEUES = "consume queues: recover (CQ-REC)"
    DESTROY_QUEUES = "consume queues: delete"
    RECOVER_LOG = "commit log: recover, dispatch nothing (STORE-6)"
    RECOVER_LOG_AGAIN = "commit log: recover, dispatch again (STORE-11)"
    TRUNCATE_QUEUES = "consume queues: truncate"
    CORRECT_MINIMUMS = "consume queues: minimum (STORE-13)"
    LOADED = "loaded"
    FIND_POSITION = "dispatch: greatest end of a queue (STORE-14)"
    DISPATCH = "dispatch: the rest of the log"
    CORRECT_AGAIN = "consume queues: minimum, again"
    MAKE_ABORT = "abort: made (STORE-2)"
    RUNNING = "running"
    REFUSED = "refused"


class Outcome(Enum):
    """How a step ended; the value is its text in the diagram."""

    DONE = ""
    WRONG_LENGTH = "a file of another length (STORE-3)"
    NO_LOG = "no file of the log (STORE-10)"
    CLEAN = "no file abort"
    UNCLEAN = "file abort"
    QUEUES_REACH_END = "a queue reaches the log's end (STORE-9)"
    QUEUES_END_BEFORE = "every queue ends before it (STORE-9)"
    BEHIND = "bytes left"


class Turn(NamedTuple):
    """From a step by an outcome to the next step; `remark` is for the diagram alone."""

    to: Step
    remark: str = ""


_AFTER_LOG: Final = {
    Outcome.QUEUES_REACH_END: Turn(Step.TRUNCATE_QUEUES),
    Outcome.QUEUES_END_BEFORE: Turn(Step.CORRECT_MINIMUMS),
}

START: Final[Mapping[Step, Mapping[Outcome, Turn]]] = {
    Step.LOAD_LOG: {
        Outcome.DONE: Turn(Step.LOAD_QUEUES),
        Outcome.WRONG_LENGTH: Turn(Step.REFUSED),
    },
    Step.LOAD_QUEUES: {
        Outcome.DONE: Turn(Step.OPEN_CHECKPOINT),
        Outcome.WRONG_LENGTH: Turn(Step.REFUSED),
    },
    Step.OPEN_CHECKPOINT: {Outcome.DONE: Turn(Step.LOAD_INDEX)},
    Step.LOAD_INDEX: {Outcome.DONE: Turn(Step.RECOVER_QUEUES, "whatever it returned (STORE-5)")},
    Step.RECOVER_QUEUES: {
        Outcome.NO_LOG: Turn(Step.DESTROY_QUEUES),
        Outcome.CLEAN: Turn(Step.RECOVER_LOG),
        Outcome.UNCLEAN: Turn(Step.RECOVER_LOG_AGAIN),
    },
    Step.DESTROY_QUEUES: {Outcome.DONE: Turn(Step.CORRECT_MINIMUMS)},
    Step.RECOVER_LOG: _AFTER_LOG,
    Step.RECOVER_LOG_AGAIN: _AFTER_LOG,
    Step.TRUNCATE_QUEUES: {Outcome.DONE: Turn(Step.CORRECT_MINIMUMS)},
    Step.CORRECT_MINIMUMS: {Outcome.DONE: Turn(Step.LOADED, "delay levels are read")},
    Step.LOADED: {Outcome.DONE: Turn(Step.FIND_POSITION)},
    Step.FIND_POSITION: {
        Outcome.BEHIND: Turn(Step.DISPATCH),
        Outcome.DONE: Turn(Step.CORRECT_AGAIN),
    },
    Step.DISPATCH: {
        Outcome.BEHIND: Turn(Step.DISPATCH),
        Outcome.DONE: Turn(Step.CORRECT_AGAIN),
    },
    Step.CORRECT_AGAIN: {Outcome.DONE: Turn(Step.MAKE_ABORT)},
    Step.MAKE_ABORT: {Outcome.DONE: Turn(Step.RUNNING)},
}
"""Each step's outcomes. An exception in a step up to LOADED refuses the start too; it is only logged."""

STOPS: Final[Mapping[Step, str]] = {
    Step.REFUSED: "the broker does not start, or an exception in a load",
    Step.RUNNING: "shutdown, file abort removed if dispatch is complete (STORE-2)",
}
"""Where the walk ends, and its text in the diagram."""
