"""The findings of an audit: their codes, severities, clauses and cures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypedDict, Unpack

from rocket_spec.deviations import Deviation, StorePart

Severity = Literal["error", "warning", "note"]

Remedy = Literal[
    "none",
    "index",
    "queues",
    "replica",
    "aside",
    "trim",
    "settings",
    "checkpoint",
    "topics",
    "offsets",
    "mount",
    "link",
    "config",
    "position",
]
"""Kinds of cures: index files or queues are rebuilt, files are copied from a replica, files that do not belong there are
moved away, or given the usual length, the broker's settings are corrected, the checkpoint is removed, the list of topics is completed from the queues,
offsets of groups beyond their queues are set to their ends, a disk is mounted, what a link leads to is restored, files of `config/` are copied from a replica, and the
physical offset in a record is set to its position."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an audit found.

    Attributes:
        code: a stable name, one of `CODES`.
        severity: "error" for bytes that break a clause, "warning" for something that loses or hides a message, or "note".
        clause: the clause that it is about, or None.
        file: name of the file relative to the store, or of the directory in which a file is missing.
        offset: byte in that file, or None if the whole file is meant.
        message: what was found, what was expected, and what it means.
        cure: what to do about it, for people; no code reads it, nor the message.
        remedy: the kind of that cure.
        length: bytes that the file should have, if it has another length than the others of its kind; else None.
        settings: those of the broker with which the files were written, or with which it starts.
        foreign: whether the file is another store's, or another one under this name.
        own_name: the name of a log file that has another name now; else empty.
        units: folder of a queue that lacks units, which may have no file to name, and first and last logical offset of these.
        deviation: the values that differ, for a judge of clauses; None where there are none.
    """

    code: str
    severity: Severity
    clause: str | None
    file: str
    offset: int | None
    message: str
    cure: str
    remedy: Remedy = "none"
    length: int | None = None
    settings: tuple[tuple[str, int | str], ...] = ()
    foreign: bool = False
    own_name: str = ""
    units: tuple[str, int, int] | None = None
    deviation: Deviation | None = None

    @property
    def part(self) -> StorePart:
        """The part of the store that it judges; empty for none."""
        return CODES[self.code].part

    def row(self) -> dict[str, str | int | None]:
        """Its printed values, by name."""
        return {name: getattr(self, name) for name in _ROW}


_ROW: Final = ("code", "severity", "clause", "file", "offset", "message", "cure")


class _Decided(TypedDict, total=False):
    """The fields of a finding that code decides by."""

    remedy: Remedy
    length: int | None
    settings: tuple[tuple[str, int | str], ...]
    foreign: bool
    own_name: str
    units: tuple[str, int, int] | None
    deviation: Deviation | None


class _Code(NamedTuple):
    """The defaults of a finding.

    Attributes:
        part: the part of a store that it judges; empty for one that follows from the store's state or configuration.
        clause: the clause that it breaks, or None.
        meaning: what it means for those who send, consume and query.
    """

    part: StorePart
    severity: Severity
    clause: str | None
    meaning: str
    cure: str
    remedy: Remedy = "none"


_REBUILD: Final = "rebuild the {} with `rocketspec rebuild` and put them in place while the broker is down"


def _of_part(part: StorePart, cure: str, remedy: Remedy) -> Callable[[Severity, str, str], _Code]:
    """Makes the defaults of findings with one cure."""
    return lambda severity, clause, meaning: _Code(part, severity, clause, meaning, cure, remedy)


_index = _of_part("index", _REBUILD.format("index files"), "index")
_queue = _of_part("queue", _REBUILD.format("consume queues"), "queues")
_log = _of_part(
    "log",
    "copy the file from a replica; the messages in this range cannot be recovered from the rest of the store",
    "replica",
)


CODES: Final[dict[str, _Code]] = {
    "index.size": _index(
        "error", "IDX-FILE-1", "the file was truncated or extended: some of its keys are not found"
    ),
    "index.geometry": _Code(
        "index",
        "error",
        "IDX-FILE-1",
        "the file has a different number of slots and entries than the broker is configured for: queries read the wrong places",
        "set maxHashSlotNum and maxIndexNum to the values with which the files were made",
    ),
    "index.header_count": _index(
        "error", "IDX-PUT-1", "newer entries are not found and are overwritten, or zeros are read as entries"
    ),
    "index.header_bounds": _index(
        "error", "IDX-HDR-2", "queries with a time window miss messages, or new messages are not indexed"
    ),
    "index.slot_range": _index("error", "IDX-PUT-7", "none of the keys in the slot's chain are found"),
    "index.slot_hash": _index("error", "IDX-HASH-3", "keys are searched in the wrong chain"),
    "index.prev_range": _index("error", "IDX-PUT-6", "older keys of the chain are not found"),
    "index.chain_cycle": _index(
        "error", "IDX-PUT-6", "a query returns one message 64 times, or never ends and blocks a thread"
    ),
    "index.entry_dangling": _index(
        "error", "IDX-PUT-6", "a query finds the key, but returns no message or an error"
    ),
    "index.entry_wrong_key": _index(
        "error", "IDX-SVC-2", "a query returns another key's message instead of its own"
    ),
    "index.missing_key": _index("warning", "IDX-SVC-2", "a query by key does not find the message"),
    "index.ahead_of_log": _Code(
        "index",
        "error",
        "IDX-HDR-3",
        "new messages are silently not indexed until the log has grown past that offset",
        "remove this index file while the broker is down, and rebuild it from the log",
        "index",
    ),
    "index.empty": _Code(
        "index",
        "warning",
        "IDX-FILE-2",
        "it takes space and time, and contains no keys",
        "remove the file while the broker is down",
        "aside",
    ),
    "index.name_order": _index("error", "IDX-SVC-8", "queries stop too early, and puts go into an old file"),
    "index.double_entry": _Code(
        "index",
        "note",
        "IDX-SVC-2",
        "a recovery, or dispatch that is stuck at a message, indexed messages again",
        "none needed: queries return the message twice",
    ),
    "queue.size": _queue("error", "CQ-FILE-1", "the broker refuses to start"),
    "queue.order": _queue("error", "CQ-FILE-4", "consumers get messages twice, or never"),
    "queue.gap": _queue(
        "error", "CQ-FILE-2", "consumers stop here; a restart may delete the rest of the queue"
    ),
    "queue.empty": _Code(
        "queue",
        "warning",
        "CQ-TRUNC-3",
        "a start of the broker takes the file's first bytes for a unit: every pull there fails",
        "move it away while the broker is down: the broker makes the file when it needs it",
        "aside",
    ),
    "queue.missing_unit": _queue("warning", "CQ-PUT-5", "consumers do not get the message"),
    "queue.dangling": _queue(
        "error", "CQ-UNIT-1", "consumers get no message here; a restart may end the queue"
    ),
    "queue.wrong_target": _queue(
        "error", "CQ-UNIT-1", "consumers get another queue's message, or part of one"
    ),
    "queue.tags_code": _queue(
        "error",
        "CQ-TAGS-1",
        "consumers that filter by tag miss the message; a delayed message is delivered at the wrong time",
    ),
    "log.gap": _log("error", "LOG-FILE-1", "messages are lost; the broker may start without an error"),
    "log.magic": _log("error", "LOG-REC-1", "messages are lost; dispatch and recovery stop here"),
    "log.length": _log("error", "LOG-REC-3", "messages are lost; dispatch and recovery stop here"),
    "log.position": _log(
        "error",
        "LOG-REC-7",
        "the bytes belong to another position or an older file: queues and index point to the wrong records",
    ),
    "log.crc": _log(
        "error", "LOG-REC-4", "consumers get damaged bytes, and a recovery truncates the log here"
    ),
    "log.torn": _Code(
        "log",
        "warning",
        "LOG-FILE-2",
        "the last write did not reach the disk completely",
        "none needed: the next start truncates the log here",
    ),
    "log.clock": _Code(
        "log",
        "note",
        "IDX-SVC-4",
        "queries with a time window, and offsets by time, may miss messages",
        "none needed: the times stay as they were stored",
    ),
    "checkpoint.ahead": _Code(
        "checkpoint",
        "error",
        "CKP-1",
        "a recovery begins too late: queues and index stay incomplete",
        "remove the checkpoint while the broker is down: it starts from the whole log",
        "checkpoint",
    ),
    "checkpoint.behind": _Code(
        "checkpoint",
        "warning",
        "CKP-1",
        "a recovery starts far back, and may delete full index files",
        "remove it while the broker is stopped: the first flush writes a new one, and until then a start after a crash "
        "dispatches the whole log again",
        "checkpoint",
    ),
    "config.unreadable": _Code(
        "",
        "error",
        "CFG-1",
        "the broker does not start, or starts without what the file held",
        "copy the file from a replica or a backup while the broker is down",
        "config",
    ),
    "consumer.offset_beyond_queue": _Code(
        "",
        "warning",
        "CFG-4",
        "the group gets messages again, or misses those that come before its offset",
        "set the offset to the queue's end, or to a replica's (`rocketspec repair --offsets FILE`), while the broker is down",
        "offsets",
    ),
    "consumer.offset_below_minimum": _Code(
        "",
        "warning",
        "CFG-4",
        "messages were deleted before the group consumed them",
        "none: the messages are gone; keep files longer (fileReservedTime), or consume faster",
    ),
    "delay.offset_beyond_queue": _Code(
        "",
        "warning",
        "CFG-5",
        "delayed messages that were not delivered yet never are",
        "while the broker is down, set the level's offset in config/delayOffset.json to that of the first message to deliver",
    ),
    "topic.missing": _Code(
        "",
        "warning",
        "CFG-1",
        "its messages cannot be consumed, and a deletion of unused topics removes its queues",
        "add the topic to config/topics.json while the broker is down, or create it again with `mqadmin updateTopic`, with at "
        "least as many queues",
        "topics",
    ),
    "transaction.unresolved": _Code(
        "",
        "note",
        "CFG-4",
        "consumers do not see these messages until their producer's group answers a check",
        "start a producer of the group, which answers the broker's checks",
    ),
    "store.abort": _Code(
        "",
        "note",
        None,
        "a broker is running, or was killed",
        "none needed while a broker runs; else see `audit --restart`",
    ),
    "store.lag": _Code(
        "",
        "note",
        None,
        "the newest messages have not been dispatched yet",
        "none needed: the broker dispatches them when it runs",
    ),
    "store.unreadable": _Code(
        "",
        "warning",
        None,
        "it was not checked",
        "read the store as the user of its broker; after an input/output error, copy the file from a replica",
    ),
    "store.refused": _Code(
        "",
        "error",
        "STORE-3",
        "the broker does not start",
        "see `audit --restart`",
    ),
    "store.unsafe_name": _Code(
        "",
        "warning",
        "CQ-FILE-3",
        "the topic's queue cannot be written or rebuilt",
        "none: such a topic cannot have a directory",
    ),
}
"""Every code, with what is usual of it."""


def finding(
    code: str,
    file: str,
    offset: int | None,
    message: str,
    *,
    severity: Severity | None = None,
    clause: str | None = None,
    cure: str | None = None,
    **decided: Unpack[_Decided],
) -> Finding:
    """A finding with a known code; severity, clause and cure default to those of the code.

    A cure of its own has no remedy but the one that is given.
    """
    usual = CODES[code]
    decided.setdefault("remedy", usual.remedy if cure is None else "none")
    severity, clause = severity or usual.severity, clause or usual.clause
    return Finding(code, severity, clause, file, offset, message, cure or usual.cure, **decided)


def strange(code: str, file: str, offset: int | None, text: str, clause: str, values: Deviation) -> Finding:
    """A note on what breaks a clause and harms nobody."""
    cure = "none needed: it harms nothing"
    return finding(code, file, offset, text, severity="note", clause=clause, cure=cure, deviation=values)
