"""The survey: the whole suite on the real store of each release, with fixed settings."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Final

from rocket_conformance.planning import Planned, plan
from rocket_conformance.protocol import FAMILIES, OPERATIONS, parse_hello
from rocket_conformance.report import CaseLine, Report, causes_of, failing_clauses
from rocket_conformance.rocketmq import (
    RELEASES,
    Differs,
    First,
    Release,
    Survey,
    difference_of,
    short_value,
)
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_jar
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

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
    assert report.footer is not None
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
    """The number of cases that misreadings of other clauses explain, and what differs by clause.

    A case that a proved cause claims counts for the clauses of that cause, and so does one that differs first in the field in
    which a claimed case does; any other one counts for its own clause. Lists that are drawn count for a clause of their own
    only if a directed case of it does.
    """
    claimed = {name: cause["clauses"] for cause in causes_of(report) for name in cause["cases"]}
    first = {line.id: _field(line) for line in report.cases if line.divergence}
    by_field = {first[name]: of for name, of in claimed.items() if name in first}
    claimed = {name: by_field[field] for name, field in first.items() if field in by_field} | claimed
    counts: dict[str, list[CaseLine]] = {}
    elsewhere = 0
    for failing in failing_clauses(report):
        own = [line for line in failing.cases if failing.clause in claimed.get(line.id, [failing.clause])]
        others = [line for line in failing.cases if line not in own]
        if all("/prop-" in line.id for line in own):  # lists that meet several causes at once
            elsewhere, own = elsewhere + len(own), []
        elsewhere += len(others)
        counts.setdefault(failing.clause, [])[:0] = own
        for line in others:
            for clause in claimed[line.id]:
                counts.setdefault(clause, []).append(line)
    differs = {
        clause: Differs(len(counts[clause]), _first(counts[clause][0]))
        for clause in clauses()
        if counts.get(clause)
    }
    return elsewhere, differs


def _field(line: CaseLine) -> str:
    """The field of the first difference, without its number and without the name of its structure."""
    return str(line.divergence[0]["field"]).rpartition(".")[2]


def _first(line: CaseLine) -> First:
    if line.divergence:
        return difference_of(line.id, line.divergence[0])
    # it died, or gave no answer
    return First(line.id, line.verdict, "", short_value(line.detail.partition("\n")[0]))


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
