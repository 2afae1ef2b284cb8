"""What an index service was about to do: the clause that each operation, entry and file of a list turns on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rocket_reference import DispatchRequest, index_keys, key_hash

from rocket_conformance.protocol import key_or_none, to_i64

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rocket_reference import IndexService

    from rocket_conformance.cases import Case
    from rocket_conformance.compare import Difference
    from rocket_conformance.protocol import Op

__all__ = ["ServiceWatch"]

_ROLLBACK: Final = 12
_MOST: Final = 64
_ENTRY: Final = re.compile(r"entry\[(\d+)\]")
_LEFT_OUT: Final = frozenset({"IDX-SVC-8", "IDX-SVC-9"})


@dataclass(slots=True)
class ServiceWatch:
    """Notes, before each operation, what the reference will do.

    Attributes:
        clauses: by place of the operation, the clause that it turns on.
        writers: by file and number of the entry, the place of the build that wrote it.
        makers: by file, the place of the build that made it.
        removers: by file, the place of the operation that deleted it.
        rolled: files that were made for a full one.
        shorter: by place of a query, the clause that it turns on when its answer ends too early.
        at_the_end: the builds whose offset is the end offset of the last file.
    """

    root: Path
    clauses: dict[int, str] = field(default_factory=dict[int, str])
    writers: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    makers: dict[str, int] = field(default_factory=dict[str, int])
    removers: dict[str, int] = field(default_factory=dict[str, int])
    rolled: set[str] = field(default_factory=set[str])
    shorter: dict[int, str] = field(default_factory=dict[int, str])
    at_the_end: set[int] = field(default_factory=set[int])
    _state: tuple[int, dict[str, int]] | None = None

    def before(self, place: int, op: Op, service: IndexService | None) -> None:
        """Surveys at the service before an operation; `service` is the one opened last."""
        files: dict[str, int] = {}
        for file in service.files if service is not None else ():
            files[file.mapped.path.relative_to(self.root).as_posix()] = file.index.header().index_count
        if self._state is not None:
            self._compare(*self._state, files)
        self._state = (place, files) if op["op"] != "service.open" else None
        if op["op"] == "service.open":
            self.clauses[place] = "IDX-SVC-5" if op["last_exit_ok"] else "IDX-SVC-6"
        elif service is not None and op["op"].startswith("service."):
            self.clauses[place] = _of(op, service)
            if op["op"] == "service.build" and service.files and _is_at_the_end(op, service):
                self.at_the_end.add(place)
            if op["op"] == "service.query":
                edge = _edge(op, service)
                self.shorter.update({place: edge} if edge else {})

    def _compare(self, place: int, old: dict[str, int], new: dict[str, int]) -> None:
        for name in old.keys() - new.keys():
            self.removers[name] = place
        for name, count in new.items():
            if name not in old:
                self.makers[name] = place
                if old:
                    self.rolled.add(name)
            for entry in range(max(1, old.get(name, 1)), count):
                self.writers[name, entry] = place

    def likely(self, case: Case, difference: Difference, found: Sequence[Difference]) -> str | None:
        """The clause that a difference most likely breaks; None when nothing points to one."""
        if difference.op is None:
            if difference.field == "size":  # files come and go as others fill up
                inside = (other for other in found if other.op is None and other.field != "size")
                difference = next(inside, difference)
            return self._of_file(case, difference)
        if difference.field.startswith("last_update"):
            return "IDX-SVC-15"
        own = self.clauses.get(difference.op)
        if case.ops[difference.op]["op"] == "service.query" and difference.field == "offsets":
            expected: Sequence[str] = difference.expected or ()
            actual: Sequence[str] = difference.actual or ()
            longer = len(actual) > len(expected) and actual[: len(expected)] == expected
            shorter = expected[: len(actual)] == actual
            return own if longer else self.shorter.get(difference.op, own) if shorter else "IDX-SVC-13"
        return own

    def _of_file(self, case: Case, difference: Difference) -> str | None:
        assert difference.file is not None  # noqa: S101 - the difference of a file
        file = self._name(difference.file)
        if difference.field == "size":
            return self._of_size(difference, file)
        for place, op in enumerate(case.ops):  # what should have been left out is there
            if self.clauses.get(place) in _LEFT_OUT and difference.actual in _values(op):
                return self.clauses[place]
        match = _ENTRY.match(difference.field)
        if match is not None:
            writer = self.writers.get((file, int(match[1])))
            if writer in self.at_the_end and difference.actual == "0":
                return "IDX-SVC-8"
            return None if writer is None else self.clauses.get(writer)
        if difference.field.startswith("header.begin") and file in self.rolled:
            return "IDX-SVC-4" if (file, 1) not in self.writers else None
        return None

    def _of_size(self, difference: Difference, file: str) -> str | None:
        if difference.expected is not None and difference.actual is not None:
            return None
        if file in self.removers:
            return "IDX-SVC-17"
        if file in self.makers:
            return "IDX-SVC-3" if file in self.rolled else "IDX-SVC-7"
        return None

    def _name(self, file: str) -> str:
        """The path that the reference gave to what is compared as `index/new-N`."""
        if not file.startswith("index/new-"):
            return file
        made = sorted(self.makers.keys() - self.removers.keys())
        number = int(file.rpartition("-")[2]) - 1
        return made[number] if number < len(made) else file


def _of(op: Op, service: IndexService) -> str:
    name = op["op"]
    if name == "service.build":
        return _of_build(op, service)
    if name == "service.query":
        return _of_query(op, service)
    return {"service.delete_expired": "IDX-SVC-17", "service.settle": "IDX-SVC-18"}[name]


def _request(op: Op) -> DispatchRequest:
    keys, uniq_key = key_or_none(op, "keys"), key_or_none(op, "uniq_key")
    return DispatchRequest(topic=op["topic"], keys=keys, uniq_key=uniq_key)


def _values(op: Op) -> set[str]:
    """What a build would have left in a file."""
    hashes = {str(key_hash(key)) for key in index_keys(_request(op))}
    return hashes | {op["commit_log_offset"], op["store_timestamp"]}


def _of_build(op: Op, service: IndexService) -> str:
    last = service.files[-1] if service.files else None
    makes = last is None or last.index.full()
    end_offset = last.end_phy_offset if last is not None else 0
    if to_i64(op["commit_log_offset"]) < end_offset:
        return "IDX-SVC-8"
    if op["sys_flag"] & _ROLLBACK == _ROLLBACK:
        return "IDX-SVC-9"
    request = _request(op)
    keys = list(index_keys(request))
    room = service.index_num - 1
    if last is not None and not makes:
        room = service.index_num - last.index.header().index_count
    if makes and not keys:
        return "IDX-SVC-7"
    if last is not None and (makes or len(keys) > room):
        return "IDX-SVC-3"
    if request.uniq_key == "":
        return "IDX-SVC-10"
    return "IDX-SVC-2" if len(keys) != 1 else "IDX-SVC-1"


def _is_at_the_end(op: Op, service: IndexService) -> bool:
    return to_i64(op["commit_log_offset"]) == service.files[-1].end_phy_offset


def _edge(op: Op, service: IndexService) -> str | None:
    """The clause whose comparison the window of a query lies at the edge of."""
    begin, end = to_i64(op["begin"]), to_i64(op["end"])
    headers = [file.index.header() for file in service.files]
    if any(header.begin_timestamp == begin for header in headers[1:]):
        return "IDX-SVC-14"
    if any(begin in {header.begin_timestamp, header.end_timestamp} for header in headers):
        return "IDX-TIME-2"
    if any(end in {header.begin_timestamp, header.end_timestamp} for header in headers):
        return "IDX-TIME-3"
    return None


def _of_query(op: Op, service: IndexService) -> str:
    """Why the query ends where it does."""
    if op["max_num"] < 0:
        return "IDX-SVC-12"
    if service.hash_slot_num == 0:
        return "IDX-SVC-16"
    begin, end = to_i64(op["begin"]), to_i64(op["end"])
    found: list[int] = []
    most = min(op["max_num"], _MOST)
    key = f"{op['topic']}#{key_or_none(op, 'key')}"
    for file in reversed(service.files):
        if file.index.time_matched(begin, end):
            found = file.index.select(key, most, begin, end, found)
        if len(found) >= most:
            return "IDX-SVC-11"
        if file.index.header().begin_timestamp < begin:
            return "IDX-SVC-14" if file is not service.files[0] else "IDX-SVC-13"
    return "IDX-SVC-13"
