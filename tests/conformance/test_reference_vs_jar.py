"""The reference against the real 4.9.3 jar: ten thousand generated lists in one go."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocket_conformance.cases import Case, Observation
from rocket_conformance.expect import specified
from rocket_conformance.judge import judge
from rocket_conformance.properties import PROPERTIES, examples
from rocket_conformance.session import open_jar
from rocket_conformance.transport import Job

pytestmark = pytest.mark.java

LISTS = 10_000
SEED = 493


def generated() -> Iterator[Case]:
    """Lists of all properties that open files, in turn."""
    kinds = [item for item in PROPERTIES if "index.open" in item.ops]
    each = -(-LISTS // len(kinds))
    streams = [examples(item, seed=SEED, count=each) for item in kinds]
    for row in zip(*streams, strict=True):
        yield from row


@pytest.mark.usefixtures("maven")
def test_ten_thousand_lists_agree(tmp_path: Path) -> None:
    sent: dict[str, tuple[Case, Observation]] = {}
    seen: Counter[str] = Counter()
    differing: list[str] = []

    def jobs() -> Iterator[Job]:
        for number, drawn in enumerate(generated()):
            case, expected = specified(drawn, tmp_path / "reference")
            sent[str(number)] = (case, expected)
            yield Job(str(number), tmp_path / str(number), case.ops, case.files)

    with open_jar("4.9.3", case_timeout=60.0) as transport:
        for job, reply in transport.run(jobs()):
            case, expected = sent.pop(job.token)
            judgement = judge(case, expected, job, reply)
            seen["lists"] += 1
            seen["operations"] += len(case.ops)
            seen["files"] += len(expected.files)
            if judgement.verdict != "pass":
                differing.append(f"{case.id}, {case.producer}: {judgement.verdict} {judgement.found[:1]}")
            shutil.rmtree(job.directory, ignore_errors=True)
    assert differing == []
    assert seen["lists"] >= LISTS
    assert seen["operations"] > 40 * LISTS
    assert seen["files"] >= LISTS * 9 // 10
