"""The clauses that a difference in queue, index service, commit log or checkpoint can break, likeliest first.

What an operation answers follows from what the operations before it did: its own clauses come first, then
those of the operations before it, the nearest first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rocket_conformance._regions import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rocket_conformance.cases import Case
    from rocket_conformance.compare import Difference

__all__ = ["file_clauses", "is_store_operation", "result_clauses"]

Clauses = tuple[str, ...]


def _numbered(family: str, *numbers: int) -> Clauses:
    return tuple(f"{family}-{number}" for number in numbers)


_UNIT: Final = _numbered("CQ-UNIT", 1, 2, 3)
_FILE: Final = _numbered("CQ-FILE", 4, 2, 3, 1)
_LOAD: Final = (*_numbered("CQ-LOAD", 1, 2), "CQ-FILE-1", "CQ-FILE-3")
_PUT: Final = (*_numbered("CQ-PUT", 1, 2, 7, 4, 5, 6, 3, 8), *_UNIT, *_FILE)
_SELECT: Final = (*_numbered("IDX-SEL", 2, 3, 4, 7, 10, 6, 9, 1), *_numbered("IDX-TIME", 1, 2, 3))
_INDEX_BYTES: Final = (
    *_numbered("IDX-HDR", 2, 3, 4, 5, 1),
    *_numbered("IDX-PUT", 8, 6, 7, 1, 2, 3, 4),
    *_numbered("IDX-FILE", 2, 5, 1),
    *_numbered("IDX-LOAD", 1, 2),
    *_numbered("IDX-HASH", 1, 2, 3),
)
_CHECKPOINT: Final = _numbered("CKP", 1, 2, 4)

_OF_OPERATION: Final[dict[str, Clauses]] = {
    "tags.code": ("CQ-TAGS-1",),
    "queue.open": _LOAD,
    "queue.put": _PUT,
    "queue.get": ("CQ-GET-1", *_UNIT, "CQ-FILE-4"),
    "queue.bounds": ("CQ-BND-1",),
    "queue.recover": (*_numbered("CQ-REC", 2, 3, 1, 4), "CQ-UNIT-3"),
    "queue.truncate": (*_numbered("CQ-TRUNC", 2, 1, 3, 4, 5, 7), "CQ-UNIT-3"),
    "queue.correct_min": _numbered("CQ-MIN", 1, 2),
    "queue.delete_expired": ("CQ-DEL-1", *_numbered("CQ-MIN", 1, 2)),
    "queue.last_offset": (*_numbered("CQ-LAST", 1, 2), "CQ-UNIT-3"),
    "service.open": (*_numbered("IDX-SVC", 5, 6), "IDX-LOAD-1", "IDX-LOAD-2", "IDX-FILE-1", "IDX-FILE-3"),
    "service.build": (*_numbered("IDX-SVC", 8, 2, 1, 3, 7, 9, 10, 19), *_INDEX_BYTES),
    "service.query": (*_numbered("IDX-SVC", 13, 14, 11, 16, 12), *_SELECT),
    "service.delete_expired": ("IDX-SVC-17", "IDX-SVC-18"),
    "service.settle": ("IDX-SVC-18",),
    "checkpoint.read": _CHECKPOINT,
    "checkpoint.write": ("CKP-4", *_CHECKPOINT),
}
_READS: Final = frozenset(
    ("queue.get", "queue.bounds", "queue.last_offset", "service.query", "service.settle", "tags.code")
)
_OF_REJECTION: Final[dict[str, Clauses]] = {
    "queue.open": ("CQ-LOAD-1", "CQ-LOAD-2", "CQ-FILE-1"),
    "queue.last_offset": ("CQ-LAST-2", "CQ-LAST-1"),
    "service.build": ("IDX-SVC-19", "IDX-SVC-7"),
    "service.query": ("IDX-SVC-12", "IDX-SVC-16"),
}
_RECORD: Final = (
    *_numbered("LOG-DSP", 6, 1),
    *_numbered("LOG-REC", 3, 4, 2, 5, 1),
    "LOG-BLANK-2",
    "LOG-FILE-2",
)
_PROPERTIES: Final = (*_numbered("LOG-PROP", 1, 2, 3, 4), "UTF8-1")
_OF_REQUEST: Final[dict[str, Clauses]] = {
    "topic": ("UTF8-1",),
    "keys": ("LOG-DSP-2", *_PROPERTIES),
    "uniq_key": ("LOG-DSP-3", *_PROPERTIES),
    "tags_code": ("LOG-DSP-4", "LOG-DSP-5", "CQ-TAGS-2", "CQ-TAGS-1", *_PROPERTIES),
    "sys_flag": ("LOG-REC-5",),
    "success": (*_RECORD, "LOG-DSP-5"),
    "msg_size": (*_RECORD, "LOG-DSP-5"),
}
_MOST_OFFSETS: Final = 64
_REQUEST_FIELD: Final = re.compile(r"requests\[\d+\]\.(\w+)\Z")


def is_store_operation(name: str) -> bool:
    """Whether this table is the one for the operation."""
    return name in _OF_OPERATION or name == "log.dispatch"


def result_clauses(case: Case, difference: Difference) -> Clauses:
    """The clauses that can explain a difference in a result; never empty."""
    assert difference.op is not None  # noqa: S101 - the difference of a result
    name = case.ops[difference.op]["op"]
    if name == "log.dispatch":
        return _of_log(difference.field)
    if difference.field == "rejected":
        return _unique((*_OF_REJECTION.get(name, ()), *_OF_OPERATION[name]))
    if name == "service.query" and difference.field.startswith("last_update"):
        return _unique(("IDX-SVC-15", *_before(case, difference.op)))
    if name == "service.query":
        return _unique((*_of_offsets(case, difference), *_before(case, difference.op)))
    if name == "queue.bounds":  # only shows what the operations before it did
        return _unique((*_before(case, difference.op), "CQ-BND-1"))
    if difference.field == "min" and not name.endswith(("correct_min", "delete_expired")):
        return _unique((*_OF_OPERATION[name], "CQ-PUT-6", *_before(case, difference.op), "CQ-BND-1"))
    return _unique((*_OF_OPERATION[name], *_before(case, difference.op), "CQ-BND-1"))


def _of_offsets(case: Case, difference: Difference) -> Clauses:
    assert difference.op is not None  # noqa: S101 - the difference of a result
    asked: int = case.ops[difference.op]["max_num"]
    offsets: list[str] = difference.expected or []
    if len(offsets) == _MOST_OFFSETS <= asked and len(difference.actual or []) > _MOST_OFFSETS:
        return ("IDX-SVC-11", *_OF_OPERATION["service.query"])
    return _OF_OPERATION["service.query"]


def _of_log(field: str) -> Clauses:
    """By the field of the request that differs; the number of requests follows from success and size."""
    match = _REQUEST_FIELD.match(field)
    if match is None:
        return _unique((*_RECORD, "LOG-DSP-5"))
    return _unique((*_OF_REQUEST.get(match[1], ()), "LOG-DSP-1", *_RECORD, "LOG-DSP-5"))


def _before(case: Case, place: int) -> Iterator[str]:
    """The clauses of what changed something before an operation, of the same family, the nearest first."""
    family = case.ops[place]["op"].partition(".")[0]
    for op in reversed(case.ops[:place]):
        if op["op"].partition(".")[0] == family and op["op"] not in _READS:
            yield from _OF_OPERATION[op["op"]]


def file_clauses(case: Case, difference: Difference, found: Sequence[Difference]) -> Clauses | None:
    """The clauses that can explain a difference in a file; None for an index file that the case opens itself."""
    assert difference.file is not None  # noqa: S101 - the difference of a file
    kind = kind_of(difference.file, case.ops)
    if kind == "index":
        return None
    if kind == "checkpoint":
        return ("CKP-2", "CKP-1", "CKP-4") if difference.field == "size" else ("CKP-4", "CKP-1", "CKP-2")
    if kind == "service":
        return _of_service_file(case, difference, found)
    if kind == "queue":
        return _of_queue_file(case, difference)
    families = {op["op"].partition(".")[0] for op in case.ops}
    if "service" in families:
        return ("IDX-SVC-5", "IDX-SVC-19")
    return ("LOG-DSP-1", *_RECORD) if "log" in families else None


def _of_service_file(case: Case, difference: Difference, found: Sequence[Difference]) -> Clauses:
    build = _OF_OPERATION["service.build"]
    in_header = {other.field for other in found if other.file == difference.file and other.op is None}
    if difference.field == "header.hash_slot_count" and "header.index_count" not in in_header:
        return ("IDX-HDR-4", "IDX-PUT-5")  # as many puts as expected: no matter of the service
    if difference.field != "size":
        return _unique((*build, *_OF_OPERATION["service.open"], "IDX-SVC-18", "IDX-SVC-17"))
    if difference.file in case.files:  # kept or deleted against the clauses
        return _unique((*_used(case, "service.delete_expired", "service.open"), *build))
    return _unique(
        ("IDX-SVC-7", "IDX-SVC-3", "IDX-SVC-4", "IDX-FILE-1", *build, *_used(case, "service.open"))
    )


def _of_queue_file(case: Case, difference: Difference) -> Clauses:
    removing = ("queue.delete_expired", "queue.truncate", "queue.recover")
    if difference.field == "size":
        if difference.expected is not None and difference.actual is not None:
            return _unique(("CQ-FILE-1", "CQ-LOAD-1", *_used(case, *removing, "queue.put")))
        if difference.file in case.files:
            return _unique((*_used(case, *removing), "CQ-FILE-2", *_LOAD))
        return _unique(("CQ-FILE-2", *_PUT, *_used(case, *removing), *_LOAD))
    writing = _used(case, "queue.put", *removing)
    return _unique((*writing, *_PUT, "CQ-TRUNC-7", *_LOAD))


def _used(case: Case, *names: str) -> Iterator[str]:
    """The clauses of those of the operations that the case has."""
    used = {op["op"] for op in case.ops}
    for name in names:
        if name in used:
            yield from _OF_OPERATION[name]


def _unique(clauses: Iterable[str]) -> Clauses:
    return tuple(dict.fromkeys(clauses))
