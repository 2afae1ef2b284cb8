"""The survey: the whole suite on the real store of each release, with fixed settings."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

from rocket_conformance.plan import Planned, plan
from rocket_conformance.protocol import FAMILIES, OPERATIONS, parse_hello
from rocket_conformance.recorded_releases import (
    RELEASES,
    Differs,
    First,
    Release,
    Survey,
    difference_of,
    short_value,
)
from rocket_conformance.runner import Options, run
from rocket_conformance.session import open_jar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocket_conformance.report import Report

__all__ = ["EXAMPLES", "SEED", "inputs_digest", "survey_all", "survey_release", "survey_to_json"]

SEED: Final = 0
EXAMPLES: Final = 20
"""Lists per property."""


def survey_all(
    releases: Sequence[str] = RELEASES, *, jobs: int = 2, known: Sequence[Release] = ()
) -> Iterator[Release]:
    """Surveys the releases, `jobs` at a time, and yields each in order when it is known.

    Args:
        releases: their versions.
        jobs: how many at a time.
        known: what an earlier run with the same inputs found, which is not surveyed again.

    Raises:
        JarUnavailableError: when there is no Java, no Maven, or a release does not resolve.
        AdapterError: when its adapter does not start.
    """
    found = {release.version: release for release in known}
    with ProcessPoolExecutor(jobs) as pool:
        running = {
            version: pool.submit(survey_release, version) for version in releases if version not in found
        }
        for version in releases:
            yield found[version] if version in found else running[version].result()


def survey_release(version: str) -> Release:
    """Runs the suite on the store of one release.

    Raises:
        JarUnavailableError: when there is no Java, no Maven, or the release does not resolve.
        AdapterError: when its adapter does not start.
        RuntimeError: when the run was cut short, or reference and recorded answers disagree.
    """
    with open_jar(version, case_timeout=30.0) as opened:
        report = run(opened, Options(examples=EXAMPLES, seed=SEED, shrink_seconds=0.0, replays=False))
        missing = tuple(
            name
            for name, operation in OPERATIONS.items()
            if not operation.decodes and name not in opened.hello.ops
        )
    assert report.footer is not None  # noqa: S101 - the run came to its end
    if report.exit_code not in {0, 1}:
        raise RuntimeError(f"{version}: no verdict: {report.footer}")
    carried, differs = _differs(report)
    return Release(version, missing, _families(report), carried, differs)


def _families(report: Report) -> dict[str, tuple[int, int]]:
    families: dict[str, tuple[int, int]] = dict.fromkeys(map(str, FAMILIES), (0, 0))
    by_id = {item.id: item for item in plan()}
    for line in report.cases:
        if line.verdict != "not_applicable":
            family = _family(by_id[line.id])
            ran, differing = families[family]
            families[family] = ran + 1, differing + (line.verdict != "pass")
    return families


def _family(planned: Planned) -> str:
    """The family of most of its operations' kind: a case has those of one, and `tags.code` or `key.hash`."""
    families = [OPERATIONS[name].family for name in sorted(planned.ops)]
    return max(FAMILIES, key=families.count)


def _differs(report: Report) -> tuple[int, dict[str, Differs]]:
    """The number of cases that differ only through another clause, and what differs by clause."""
    assert report.footer is not None  # noqa: S101 - the run came to its end
    lines = {line.id: line for line in report.cases}
    found: dict[str, Differs] = {}
    carried = 0
    for cause in report.footer["causes"]:
        if all("/prop-" in name for name in cause["cases"]):  # lists that meet several causes at once
            carried += len(cause["cases"])
            continue
        carried += len(cause["cases"]) - cause["own"]
        first = lines[cause["cases"][0]]
        if first.divergence:
            example = difference_of(first.id, first.divergence[0])
        else:  # it died, or its answer was none
            example = First(first.id, first.verdict, "", short_value(first.detail.partition("\n")[0]))
        known = found.get(cause["clause"])
        cases = len(cause["cases"]) + (known.cases if known is not None else 0)
        found[cause["clause"]] = Differs(cases, known.first if known is not None else example)
    return carried, {clause: found[clause] for clause in clauses() if clause in found}


# --- what was asked -----------------------------------------------------------------------------------


def inputs_digest() -> str:
    """SHA-256 of all that decides what a release is asked: cases, drawn lists, clauses, the jars' adapter."""
    digest = hashlib.sha256()
    for part in _inputs():
        digest.update(json.dumps(part, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def _inputs() -> Iterator[object]:
    yield RELEASES, SEED, EXAMPLES
    yield list(clauses())
    everything = parse_hello(
        {"protocol": 1, "name": "all", "ops": list(OPERATIONS), "features": ["lone_surrogates"]}
    )
    for item in plan():
        for case in item.instances(seed=SEED, count=EXAMPLES, hello=everything):
            files = {path: image.sha256() for path, image in case.files.items()}
            yield item.id, item.clauses, case.ops, files
    folder = find_data("conformance/adapters/rocketmq")
    for path in sorted([folder / "pom.xml", *folder.rglob("*.java")]):
        yield path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()


# --- as it is kept ------------------------------------------------------------------------------------


def survey_to_json(survey: Survey) -> str:
    """The survey as `spec/versions.json` holds it."""
    return json.dumps(asdict(survey), indent=1, ensure_ascii=True) + "\n"
