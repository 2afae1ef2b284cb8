"""Lists on queues, services, logs and checkpoints: what they reach, and what becomes of a wrong implementation."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rocket_conformance.cases import Case
from rocket_conformance.comparison import specified
from rocket_conformance.properties import PROPERTIES, examples


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
