"""The survey: the whole suite on the real store of each release, with fixed settings."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

from rocket_conformance.plan import Planned, plan
from rocket_conformance.protocol import FAMILIES, OPERATIONS, parse_hello
from rocket_conformance.runner import Options, run
from rocket_conformance.session import open_jar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocket_conformance.report import CaseLine, Report

__all__ = [
    "EXAMPLES",
    "RELEASES",
    "SEED",
    "Differs",
    "First",
    "Release",
    "Survey",
    "inputs_digest",
    "read_survey",
    "survey_all",
    "survey_release",
    "survey_to_json",
]

RELEASES: Final = (
    "3.2.6", "4.0.0-incubating", "4.1.0-incubating", "4.3.0", "4.3.1", "4.3.2", "4.4.0", "4.5.0", "4.5.1",
    "4.5.2", "4.6.0", "4.6.1", "4.7.0", "4.7.1", "4.8.0", "4.9.0", "4.9.1", "4.9.2", "4.9.3", "4.9.4", "4.9.5",
    "4.9.7", "4.9.8", "5.0.0-ALPHA", "5.0.0", "5.1.0", "5.1.1", "5.1.3", "5.1.4", "5.2.0", "5.3.0", "5.3.1",
    "5.3.2", "5.3.3", "5.4.0", "5.5.0", "5.5.1",
)  # fmt: skip
"""Every release of the store from 3.2.6 on that Maven resolves. 4.2.0 and 5.3.4 ask for jars that are not there."""

SEED: Final = 0
EXAMPLES: Final = 20
"""Lists per property."""

_END_CLAUSES: Final = frozenset(
    ("CQ-PUT-1", "CQ-PUT-7", "CQ-REC-2", "CQ-TRUNC-1", "CQ-TRUNC-2", "CQ-TRUNC-4", "CQ-TRUNC-5")
)
_SHOWN_BY_MANY: Final = {
    "max_physic_offset": _END_CLAUSES,
    "hash_slot_count": frozenset(("IDX-HDR-4",)),
    "header.hash_slot_count": frozenset(("IDX-HDR-4",)),
}
"""Fields that lie in the answers or bytes of nearly every case, and the clauses that say what they hold.

A case of another clause that differs in nothing else says nothing of its own clause.
"""
_LONGEST_VALUE: Final = 60


@dataclass(frozen=True, slots=True)
class First:
    """The first case that differs: where, what 4.9.3 does and what the release does."""

    case: str
    where: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Differs:
    """How many cases show that a release does not do what a clause says, and the first of them."""

    cases: int
    first: First


@dataclass(frozen=True, slots=True)
class Release:
    """What one release does.

    Attributes:
        version: of the release.
        missing: operations that its classes do not offer.
        families: of each family of operations, how many cases ran and how many of them differ.
        carried: cases that differ in nothing but a field that another clause is about, or in a clause whose own
            cases do not differ: what they show follows from something else.
        differs: by clause, in the order of SPEC.md; the first case is one of the clause's own, a directed one if
            one of those differs.
    """

    version: str
    missing: tuple[str, ...]
    families: Mapping[str, tuple[int, int]]
    carried: int
    differs: Mapping[str, Differs]


@dataclass(frozen=True, slots=True)
class Survey:
    """All releases, and the digest of what they were asked."""

    inputs: str
    releases: tuple[Release, ...]


def survey_all(
    releases: Sequence[str] = RELEASES, *, jobs: int = 2, known: Sequence[Release] = ()
) -> Iterator[Release]:
    """Surveys the releases, so many at a time; gives each, in order, when it is known.

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
        missing = tuple(name for name in OPERATIONS if name not in opened.hello.ops)
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
    """The cases that were carried along, and what differs by clause."""
    found: dict[str, list[First]] = {}
    carried = 0
    for line in report.cases:
        if line.verdict in {"pass", "not_applicable"}:
            continue
        broken = _first(line)
        if broken is None:
            carried += 1
        else:
            found.setdefault(broken[0], []).append(broken[1])
    differs: dict[str, Differs] = {}
    for clause in clauses():
        own = [told for told in found.get(clause, ()) if told.case.startswith(f"{clause}/")]
        if own:
            first = min(own, key=lambda told: ("/prop-" in told.case, told.case))
            differs[clause] = Differs(len(found[clause]), first)
        else:
            carried += len(found.get(clause, ()))
    return carried, differs


def _first(line: CaseLine) -> tuple[str, First] | None:
    """The clause that a case differs in, and how; None when it only shows what another clause is about."""
    if not line.divergence:  # it died, or its answer was none
        return line.clauses[0], First(line.id, line.verdict, "", _short(line.detail.partition("\n")[0]))
    for item in line.divergence:
        owners = _SHOWN_BY_MANY.get(item["field"])
        if owners is None or item["clause"] in owners:
            where = item["field"] if item["op"] is None else f"operation {item['op']}, {item['field']}"
            return item["clause"], First(line.id, where, _short(item["expected"]), _short(item["actual"]))
    return None


def _short(value: object) -> str:
    if isinstance(value, dict) and "rejected" in value:  # the reason may name a temporary file
        return "rejected"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


# --- what was asked -----------------------------------------------------------------------------------


def inputs_digest() -> str:
    """SHA-256 of all that decides what a release is asked: cases, drawn lists, clauses, the jars' adapter."""
    digest = hashlib.sha256()
    for part in _inputs():
        digest.update(json.dumps(part, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def _inputs() -> Iterator[object]:
    yield RELEASES, SEED, EXAMPLES, _LONGEST_VALUE
    yield sorted((field, sorted(owners)) for field, owners in _SHOWN_BY_MANY.items())
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


def read_survey() -> Survey:
    """The survey that lies beside SPEC.md.

    Raises:
        FileNotFoundError: when there is none.
    """
    value: dict[str, Any] = json.loads(find_data("spec/versions.json").read_bytes())
    return Survey(value["inputs"], tuple(_release(item) for item in value["releases"]))


def _release(value: dict[str, Any]) -> Release:
    return Release(
        version=value["version"],
        missing=tuple(value["missing"]),
        families={name: (ran, differing) for name, (ran, differing) in value["families"].items()},
        carried=value["carried"],
        differs={
            clause: Differs(item["cases"], First(**item["first"]))
            for clause, item in value["differs"].items()
        },
    )
