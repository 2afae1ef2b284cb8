"""Lists on queues, services, logs and checkpoints: what they reach, and what becomes of a wrong implementation."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rocket_conformance.cases import Case
from rocket_conformance.comparison import specified
from rocket_conformance.counterexamples import read_replay
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.planning import Planned
from rocket_conformance.properties import PROPERTIES, examples
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.running import Options, run, run_planned
from rocket_conformance.transport import open_handler


def drawn(prefixes: tuple[str, ...], count: int) -> Iterator[Case]:
    for item in PROPERTIES:
        if item.id.startswith(prefixes):
            yield from examples(item, seed=0, count=count)


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
        for request in (request for result in expected.results for request in result.get("requests", ())):
            seen[outcome(request)] += 1
            seen["replaced"] += "\ufffd" in (request["keys"] or "") + request["topic"]
            seen["delayed"] += request["topic"] == "SCHEDULE_TOPIC_XXXX" and len(request["tags_code"]) > 12
    assert {kind: count for kind, count in seen.items() if count < 5} == {}
    assert len(seen) == 6


WRONG = (
    ("CQ-PUT-1/prop-repeats", "record-ending-at-the-end-appended"),
    ("CQ-PUT-6/prop-first-offsets", "end-without-size"),
    ("CQ-PUT-2/prop-logical-offsets", "gap-refused"),
    ("CQ-TRUNC-2/prop-truncations", "unit-at-the-offset-kept"),
    ("CQ-DEL-1/prop-expiry", "file-whose-last-unit-is-at-the-offset-deleted"),
    ("CQ-MIN-1/prop-minimum", "minimum-behind-the-offset"),
    ("CQ-TAGS-1/prop-tags-codes", "tags-code-never-negative"),
    ("IDX-SVC-8/prop-repeats", "equal-offset-left-out"),
    ("IDX-SVC-9/prop-transaction-types", "rollback-indexed"),
    ("IDX-SVC-6/prop-unclean-exits", "nothing-deleted-after-a-crash"),
    ("IDX-SVC-13/prop-windows", "earlier-file-searched-too"),
    ("LOG-REC-4/prop-checksums", "checksum-never-checked"),
    ("LOG-DSP-5/prop-delay-levels", "delay-levels-ignored"),
    ("UTF8-1/prop-malformed", "malformed-replaced-byte-by-byte"),
    ("CKP-1/prop-times", "times-not-written"),
)
"""A property, and a misreading that it finds."""


@pytest.mark.parametrize(("name", "misreading"), WRONG)
def test_a_wrong_store_is_caught_named_and_replayed(name: str, misreading: str, tmp_path: Path) -> None:
    wrong = next(mutant for mutant in MUTANTS if mutant.name == misreading).handler()
    with open_handler(wrong) as transport:
        options = Options(select=[name], examples=40, shrink_seconds=20)
        report = run(transport, options, report=tmp_path)
    [line] = report.cases
    assert line.verdict == "diverged"
    assert line.divergence[0]["clause"] == name.partition("/")[0]
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
