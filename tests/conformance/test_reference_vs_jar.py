"""The reference against the real 4.9.3 classes, over generated lists of every family."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from rocket_conformance.cases import Case, Observation
from rocket_conformance.expect import specified
from rocket_conformance.judge import judge
from rocket_conformance.properties import PROPERTIES, Property, examples
from rocket_conformance.session import open_jar
from rocket_conformance.transport import Job

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("maven")]

SEED = 493
FAMILIES = ("index", "service", "queue", "tags", "log", "checkpoint")


def of_family(family: str) -> list[Property]:
    """The properties whose lists are of a family's operations; those of key hashes alone are left out."""
    return [item for item in PROPERTIES if any(name.startswith(f"{family}.") for name in item.ops)]


def disagreements(
    items: Sequence[Property], lists: int, seed: int, root: Path
) -> tuple[Counter[str], list[str]]:
    """What was sent, and every list on which reference and real jar disagree."""
    sent: dict[str, tuple[Case, Observation]] = {}
    seen: Counter[str] = Counter()
    differing: list[str] = []
    each = -(-lists // len(items))

    def jobs() -> Iterator[Job]:
        for number, drawn in enumerate(
            case for item in items for case in examples(item, seed=seed, count=each)
        ):
            case, expected = specified(drawn, root / "reference")
            sent[str(number)] = (case, expected)
            yield Job(str(number), root / str(number), case.ops, case.files)

    with open_jar("4.9.3", case_timeout=60.0) as transport:
        for job, reply in transport.run(jobs()):
            case, expected = sent.pop(job.token)
            judgement = judge(case, expected, job, reply)
            seen["lists"] += 1
            seen["operations"] += len(case.ops)
            seen["files"] += len(expected.files)
            seen["rejected"] += sum("rejected" in result for result in expected.results)
            if judgement.verdict != "pass":
                differing.append(f"{case.id}, {case.producer}: {judgement.verdict} {judgement.found[:1]}")
            shutil.rmtree(job.directory, ignore_errors=True)
    assert not sent
    return seen, differing


def test_every_property_is_of_a_family() -> None:
    named = {item.id for family in FAMILIES for item in of_family(family)}
    assert {item.id for item in PROPERTIES} - named == {
        "IDX-HASH-1/prop-key-hash",
        "IDX-HASH-1/prop-lone-surrogates",
    }


def test_lists_on_index_files_agree(tmp_path: Path) -> None:
    seen, differing = disagreements(of_family("index"), 7_000, SEED, tmp_path)
    assert differing == []
    assert seen["lists"] >= 7_000
    assert seen["operations"] > 40 * seen["lists"]
    assert seen["files"] >= seen["lists"] * 9 // 10


@pytest.mark.parametrize(
    ("family", "lists"),
    [("service", 700), ("queue", 1_500), ("tags", 60), ("log", 1_000), ("checkpoint", 100)],
)
def test_lists_on_the_store_agree(family: str, lists: int, tmp_path: Path) -> None:
    seen, differing = disagreements(of_family(family), lists, SEED, tmp_path)
    assert differing == []
    assert seen["lists"] >= lists
    assert seen["operations"] > 2 * seen["lists"]


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", FAMILIES)
def test_many_lists_agree(family: str, seed: int, tmp_path: Path) -> None:
    lists = {"index": 10_000, "queue": 10_000, "log": 10_000, "service": 3_000}.get(family, 1_000)
    _, differing = disagreements(of_family(family), lists, seed, tmp_path)
    assert differing == []
