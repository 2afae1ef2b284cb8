"""Surveys the differences between RocketMQ releases with the real jars, and writes them beside the spec.

    python -m tools.versions

runs the whole suite, with fixed settings, on the store of each release and writes `spec/versions.json` and, from it,
`spec/VERSIONS.md`. What a run has found that was interrupted, on the same cases, is not surveyed again.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Final

from rocket_conformance.judging import FAILING
from rocket_conformance.planning import Planned, plan
from rocket_conformance.protocol import FAMILIES, OPERATIONS, parse_hello
from rocket_conformance.report import CaseLine, Report, causes_of
from rocket_conformance.rocketmq import (
    ORACLE_VERSION,
    RELEASES,
    Differs,
    First,
    Release,
    Survey,
    difference_of,
    read_survey,
    short_value,
)
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_jar
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data
from rocket_spec.profiles import differences

SEED: Final = 0
EXAMPLES: Final = 20  # lists per property


def survey_all(
    releases: Sequence[str] = RELEASES, *, jobs: int = 2, known: Sequence[Release] = ()
) -> Iterator[Release]:
    """Surveys the releases, `jobs` at a time, and yields each in order when it is known; errors as of `survey_release`.

    What an earlier run with the same inputs found (`known`) is not surveyed again.
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

    JarUnavailableError without Java, Maven or the release; AdapterError when its adapter does not start; RuntimeError when the run was cut
    short, or reference and recorded answers disagree.
    """
    with open_jar(version, case_timeout=30.0) as opened:
        report = run(opened, Options(examples=EXAMPLES, seed=SEED, shrink_seconds=0.0))
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
    which a claimed case does, the length of a file aside; any other one counts for its own clause. Lists that are drawn count
    for a clause of their own only if a directed case of it does.
    """
    claimed: dict[str, list[str]] = {}
    for cause in causes_of(report):
        for name in cause["cases"]:
            claimed.setdefault(name, []).append(cause["clause"])
    first: dict[str, str] = {}
    for line in report.cases:
        if line.divergence and line.divergence[0]["field"] != "size":
            first[line.id] = str(line.divergence[0]["field"]).rpartition(".")[2]
    by_field = {first[name]: of for name, of in claimed.items() if name in first}
    claimed = {name: by_field[field] for name, field in first.items() if field in by_field} | claimed
    counts: dict[str, list[CaseLine]] = {}
    elsewhere = 0
    examples: Mapping[str, str] = (report.footer or {}).get("examples", {})
    failing = [line for line in report.cases if line.verdict in FAILING]
    failing.sort(key=lambda line: (line.id not in examples.values(), line.is_property, line.id))
    for name in clauses():
        cases = [line for line in failing if line.clauses[0] == name]
        own = [line for line in cases if name in claimed.get(line.id, [name])]
        others = [line for line in cases if line not in own]
        if all(line.is_property for line in own):  # lists that meet several causes at once
            elsewhere, own = elsewhere + len(own), []
        elsewhere += len(others)
        counts.setdefault(name, [])[:0] = own
        for line in others:
            for clause in claimed[line.id]:
                counts.setdefault(clause, []).append(line)
    differs = {
        clause: Differs(len(counts[clause]), _first(counts[clause][0]))
        for clause in clauses()
        if counts.get(clause)
    }
    return elsewhere, differs


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


# --- the page ------------------------------------------------------------------------------------------


def render(survey: Survey) -> str:
    """The page."""
    groups = _groups(survey.releases)
    page = Path(__file__).with_name("versions_page.txt").read_text("utf-8")
    return page.format(
        oracle=ORACLE_VERSION,
        first=survey.releases[0].version,
        last=survey.releases[-1].version,
        count=len(survey.releases),
        releases="\n".join(_releases(groups)),
        matrix="\n".join(_matrix(groups)),
        instead="\n".join(_instead()),
        firsts="\n".join(_firsts(groups)),
    )


Group = tuple[Release, ...]


def _groups(releases: Sequence[Release]) -> list[Group]:
    """Neighbours that do the same."""
    return [
        tuple(group) for _, group in groupby(releases, key=lambda item: (item.missing, list(item.differs)))
    ]


def _name(group: Group) -> str:
    first, last = group[0].version, group[-1].version
    return first if len(group) == 1 else f"{first} to {last}"


def _releases(groups: Sequence[Group]) -> Iterator[str]:
    yield f"| release | {' | '.join(FAMILIES)} | carried |"
    yield "|---|" + "---:|" * (len(FAMILIES) + 1)
    for group in groups:
        for release in group:
            cells = [_count(*release.families[family]) for family in FAMILIES]
            yield f"| {release.version} | {' | '.join(cells)} | {release.carried or ''} |"
    missing = {release.version: release.missing for group in groups for release in group if release.missing}
    if missing:
        yield ""
    for version, operations in missing.items():
        yield f"The classes of {version} do not offer {', '.join(f'`{name}`' for name in operations)}."


def _count(ran: int, differing: int) -> str:
    if not ran:
        return "not offered"
    return f"{differing} of {ran}" if differing else f"none of {ran}"


def _differing(groups: Sequence[Group]) -> list[str]:
    return [clause for clause in clauses() if any(clause in group[0].differs for group in groups)]


def _matrix(groups: Sequence[Group]) -> Iterator[str]:
    yield f"| clause | since | {' | '.join(_name(group) for group in groups)} |"
    yield "|---|---|" + ":---:|" * len(groups)
    known = clauses()
    for clause in _differing(groups):
        cells = ["x" if clause in group[0].differs else "" for group in groups]
        yield f"| {clause} | {known[clause].since} | {' | '.join(cells)} |"


def _instead() -> Iterator[str]:
    for found in differences():
        releases = " to ".join(dict.fromkeys((found.first, found.last)))
        source = f"{found.source} at {found.at}"
        yield f"| {', '.join(found.clauses)} | {releases} | {found.text} | {source} | {found.evidence} |"


def _firsts(groups: Sequence[Group]) -> Iterator[str]:
    releases = [release for group in groups for release in group]
    for clause in _differing(groups):
        alike = groupby(
            releases, key=lambda item: item.differs[clause].first if clause in item.differs else None
        )
        for first, same in alike:
            if first is None:
                continue
            group = tuple(same)
            counts = sorted({release.differs[clause].cases for release in group})
            cases = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            cells = [first.case, first.where, _code(first.expected), _code(first.actual)]
            yield f"| {' | '.join([clause, _name(group), cases, *cells])} |"


def _code(text: str) -> str:
    """A value as code in a cell of a table."""
    shown = "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in text)
    return f"`{shown.replace('|', '&#124;')}`" if shown else ""


def main() -> None:
    """Writes both files beside SPEC.md."""
    parser = argparse.ArgumentParser(prog="python -m tools.versions", description=__doc__)
    parser.add_argument("--render", action="store_true", help="only VERSIONS.md again, from versions.json")
    parser.add_argument("--again", action="store_true", help="survey what versions.json holds already, too")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="releases at a time (default 2)")
    arguments = parser.parse_args()
    folder = find_data("spec/SPEC.md").parent
    if not arguments.render:
        digest = inputs_digest()
        found: list[Release] = []
        known = () if arguments.again else _known(digest)
        for release in survey_all(jobs=arguments.jobs, known=known):
            found.append(release)
            sys.stderr.write(f"{release.version} differs in {', '.join(release.differs) or 'nothing'}\n")
            text = json.dumps(asdict(Survey(digest, tuple(found))), indent=1)
            (folder / "versions.json").write_text(f"{text}\n", encoding="utf-8")
    survey = read_survey()
    if len(survey.releases) == len(RELEASES):
        (folder / "VERSIONS.md").write_text(render(survey), encoding="utf-8")


def _known(digest: str) -> tuple[Release, ...]:
    try:
        survey = read_survey()
    except FileNotFoundError:
        return ()
    return survey.releases if survey.inputs == digest else ()


if __name__ == "__main__":
    main()
