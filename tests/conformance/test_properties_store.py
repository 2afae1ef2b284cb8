"""Lists on queues, services, logs and checkpoints: what they reach, and what becomes of a wrong implementation."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest
import rocket_reference
from rocket_conformance.attribution import Simulation, is_same
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import specified
from rocket_conformance.counterexamples import read_replay
from rocket_conformance.misreadings import MUTANTS, Mutant
from rocket_conformance.planning import Planned
from rocket_conformance.properties import PROPERTIES, examples
from rocket_conformance.reference_adapter import Library, ReferenceAdapter
from rocket_conformance.running import Options, run, run_planned
from rocket_conformance.transport import open_handler
from rocket_reference import ConsumeQueue, DispatchRequest, IndexService, OffsetResult


class Wrong:
    """The reference with one part replaced."""

    def __init__(self, **parts: object) -> None:
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        return self._parts.get(name) or getattr(rocket_reference, name)


class PutsAtTheEnd(ConsumeQueue):
    """A record that ends where the last one did is put again."""

    def put(self, offset: int, size: int, tags_code: int, cq_offset: int) -> bool:
        if offset + size == self.max_physic_offset:
            self.max_physic_offset -= 1
        return super().put(offset, size, tags_code, cq_offset)


class RefusesGaps(ConsumeQueue):
    """A unit behind the write position is left out."""

    def put(self, offset: int, size: int, tags_code: int, cq_offset: int) -> bool:
        last = self.files.last()
        if (
            last is not None
            and last.wrote_position
            and cq_offset * 20 > last.file_from_offset + last.wrote_position
        ):
            return True
        return super().put(offset, size, tags_code, cq_offset)


class EndsAtTheOffset(ConsumeQueue):
    """The end is the unit's offset, as before 4.5.0."""

    def put(self, offset: int, size: int, tags_code: int, cq_offset: int) -> bool:
        before = self.max_physic_offset
        put = super().put(offset, size, tags_code, cq_offset)
        if self.max_physic_offset != before:
            self.max_physic_offset = offset
        return put


class TruncatesBehind(ConsumeQueue):
    """The unit at the offset stays."""

    def truncate(self, phy_offset: int) -> None:
        super().truncate(min(phy_offset + 1, (1 << 63) - 1))


class ExpiresEarly(ConsumeQueue):
    """A file goes whose last unit is at the offset."""

    def delete_expired(self, phy_offset: int) -> int:
        deleted = self.files.delete_expired_by_offset(min(phy_offset + 1, (1 << 63) - 1), 20)
        self.correct_min(phy_offset)
        return deleted


class PassesTheMinimum(ConsumeQueue):
    """The unit at the offset is not the minimum."""

    def correct_min(self, phy_min_offset: int) -> None:
        super().correct_min(min(phy_min_offset + 1, (1 << 63) - 1))


class SkipsTheLast(IndexService):
    """A message at the end offset is not indexed again."""

    def build(self, request: DispatchRequest) -> None:
        last = self.files[-1] if self.files else None
        if last is not None and not last.index.full() and request.commit_log_offset == last.end_phy_offset:
            return
        super().build(request)


class IndexesRolledBack(IndexService):
    """Every transaction type is indexed."""

    def build(self, request: DispatchRequest) -> None:
        super().build(replace(request, sys_flag=0))


class KeepsAllFiles(IndexService):
    """An unclean exit is like a clean one."""

    def load(self, *, last_exit_ok: bool) -> bool:
        return super().load(last_exit_ok=True)


class FindsAll(IndexService):
    """A query that ends at no file."""

    def query(self, topic: str, key: str, max_num: int, begin: int, end: int) -> OffsetResult:
        found = super().query(topic, key, max_num, begin, end)
        offsets: list[int] = []
        for file in reversed(self.files):
            if file.index.time_matched(begin, end):
                offsets = file.index.select(f"{topic}#{key}", min(max_num, 64), begin, end, offsets)
        return replace(found, offsets=offsets)


def unchecked(data: bytes, *, check_crc: bool, read_body: bool) -> Iterator[DispatchRequest]:
    """The checksum is never looked at."""
    del check_crc
    return iter(rocket_reference.dispatch_requests(data, read_body=read_body))


def without_levels(data: bytes, *, check_crc: bool, read_body: bool) -> Iterator[DispatchRequest]:
    """No delay levels."""
    return iter(
        rocket_reference.dispatch_requests(data, check_crc=check_crc, read_body=read_body, delay_levels=())
    )


def python_text(data: bytes, *, check_crc: bool, read_body: bool) -> Iterator[DispatchRequest]:
    """Keys as another decoder would give them: each replacement character twice."""
    for request in rocket_reference.dispatch_requests(data, check_crc=check_crc, read_body=read_body):
        keys = request.keys
        yield replace(request, keys=keys.replace("\ufffd", "\ufffd\ufffd") if keys else keys)


def drawn(prefixes: tuple[str, ...], count: int) -> Iterator[Case]:
    for item in PROPERTIES:
        if item.id.startswith(prefixes):
            yield from examples(item, seed=0, count=count)


def numbered(family: str, *numbers: int) -> set[str]:
    return {f"{family}-{number}" for number in numbers}


@pytest.mark.parametrize(
    ("prefix", "clauses"),
    [
        (
            "CQ-",
            numbered("CQ-PUT", 1, 2, 3, 4, 5, 6, 7, 8)
            | numbered("CQ-REC", 1, 2, 3, 4)
            | numbered("CQ-TRUNC", 1, 2, 3, 4, 5)
            | numbered("CQ-MIN", 1, 2)
            | numbered("CQ-LAST", 1, 2)
            | {"CQ-GET-1", "CQ-DEL-1", "CQ-LOAD-1", "CQ-TAGS-1"},
        ),
        ("IDX-SVC-", numbered("IDX-SVC", 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 18)),
    ],
)
def test_lists_reach_each_turn_that_4_9_3_takes(prefix: str, clauses: set[str], tmp_path: Path) -> None:
    """And none holds an operation that is never sent."""
    lists: list[tuple[Case, Observation]] = []
    for case in drawn((prefix,), 12):
        sent, expected = specified(case, tmp_path / "reference")
        assert sent.ops == case.ops, f"{case.id}, {case.producer}"
        lists.append((case, expected))
    simulation = Simulation(lambda: tmp_path / "misreading")

    def diverges(mutant: Mutant, case: Case, expected: Observation) -> bool:
        shown = simulation.observe(frozenset((mutant,)), case, expected)
        return shown is None or not is_same(expected, shown)

    def noticed(clause: str) -> int:
        """The number of lists, up to 3, that a misreading of the clause fails."""
        misread = [mutant for mutant in MUTANTS if mutant.clause == clause]
        failing = (item for item in lists if any(diverges(mutant, *item) for mutant in misread))
        return len(list(islice(failing, 3)))

    assert {clause: count for clause in sorted(clauses) if (count := noticed(clause)) < 3} == {}


def test_laid_index_files_come_before_those_that_are_made() -> None:
    """A file named `7` would be the last one at the next load, by name; a made one is of this century."""
    names = {path.removeprefix("index/") for case in drawn(("IDX-SVC",), 100) for path in case.files}
    numbers = {name for name in names if re.fullmatch(r"[-+]?\d{1,18}", name)}
    assert {"07", "-5"} < numbers
    assert max(numbers) < "2026"


def outcome(request: Mapping[str, Any]) -> str:
    sizes = {0: "blank", -1: "unreadable"}
    return sizes.get(request["msg_size"], "record" if request["success"] else "lengths do not add up")


def test_logs_give_each_kind_of_request(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for case in drawn(("LOG-", "UTF8-"), 25):
        sent, expected = specified(case, tmp_path / "reference")
        assert sent.ops == case.ops
        for request in (request for result in expected.results for request in result["requests"]):
            seen[outcome(request)] += 1
            seen["replaced"] += "\ufffd" in (request["keys"] or "") + request["topic"]
            seen["delayed"] += request["topic"] == "SCHEDULE_TOPIC_XXXX" and len(request["tags_code"]) > 12
    assert {kind: count for kind, count in seen.items() if count < 5} == {}
    assert len(seen) == 6


Wrongly = tuple[str, str, Mapping[str, object]]
WRONG: tuple[Wrongly, ...] = (
    ("CQ-PUT-1/prop-repeats", "CQ-PUT-1", {"ConsumeQueue": PutsAtTheEnd}),
    ("CQ-PUT-6/prop-first-offsets", "CQ-PUT-", {"ConsumeQueue": EndsAtTheOffset}),
    ("CQ-PUT-2/prop-logical-offsets", "CQ-PUT-3", {"ConsumeQueue": RefusesGaps}),
    ("CQ-TRUNC-2/prop-truncations", "CQ-TRUNC-", {"ConsumeQueue": TruncatesBehind}),
    ("CQ-DEL-1/prop-expiry", "CQ-DEL-1", {"ConsumeQueue": ExpiresEarly}),
    ("CQ-MIN-1/prop-minimum", "CQ-MIN-", {"ConsumeQueue": PassesTheMinimum}),
    ("CQ-TAGS-1/prop-tags-codes", "CQ-TAGS-1", {"tags_code": lambda tags: len(tags or "")}),
    ("IDX-SVC-8/prop-repeats", "IDX-SVC-8", {"IndexService": SkipsTheLast}),
    ("IDX-SVC-9/prop-transaction-types", "IDX-SVC-9", {"IndexService": IndexesRolledBack}),
    ("IDX-SVC-6/prop-unclean-exits", "IDX-SVC-6", {"IndexService": KeepsAllFiles}),
    ("IDX-SVC-13/prop-windows", "IDX-SVC-14", {"IndexService": FindsAll}),
    ("LOG-REC-4/prop-checksums", "LOG-REC-4", {"dispatch_requests": unchecked}),
    ("LOG-DSP-5/prop-delay-levels", "LOG-DSP-5", {"dispatch_requests": without_levels}),
    ("UTF8-1/prop-malformed", "UTF8-1", {"dispatch_requests": python_text}),
    ("CKP-1/prop-times", "CKP-4", {"write_checkpoint": lambda _path, _times: None}),
)


@pytest.mark.parametrize(("name", "clause", "parts"), WRONG, ids=[f"{name}" for name, _, _ in WRONG])
def test_a_wrong_store_is_caught_named_and_replayed(
    name: str, clause: str, parts: Mapping[str, Callable[..., object]], tmp_path: Path
) -> None:
    wrong = ReferenceAdapter(cast("Library", Wrong(**parts)))
    with open_handler(wrong) as transport:
        options = Options(select=[name], examples=40, shrink_seconds=20)
        report = run(transport, options, report=tmp_path)
    [line] = report.cases
    assert line.verdict == "diverged"
    assert line.divergence[0]["clause"].startswith(clause)
    document = json.loads((tmp_path / str(line.replay)).read_bytes())
    assert len(document["ops"]) <= 8
    planned = Planned(read_replay(tmp_path / str(line.replay)))
    with open_handler(wrong) as transport:
        again, shown = run_planned(transport, planned, Options())
    assert again.verdict == "diverged"
    assert shown is not None
    assert shown["actual"] == document["actual"]
    with open_handler(ReferenceAdapter()) as transport:
        again, shown = run_planned(transport, planned, Options())
    assert (again.verdict, shown) == ("pass", None)
