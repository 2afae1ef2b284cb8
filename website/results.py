"""The conformance results at the end of `docs/findings.md` on the site, from reports alone: implementations by clauses, badges."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rocket_conformance.report import badge_picture
from rocket_spec.clauses import clauses

RESULTS: Final = Path(__file__).with_name("results.json")
PARTS: Final = ("index", "service", "queue", "log", "checkpoint")


class Run(NamedTuple):
    """A run of the suite on one version of an implementation; cells are (passed, failed, state) by clause."""

    name: str
    version: str
    language: str
    suite: str
    started: str
    clauses: dict[str, tuple[int, int, str]]

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def tally(self, part: str) -> tuple[int, int]:
        """Cases of a part that passed and failed."""
        cells = [cell for clause, cell in self.clauses.items() if family_of(clause) == part]
        return sum(cell[0] for cell in cells), sum(cell[1] for cell in cells)


def read_runs(results: Path = RESULTS) -> list[Run]:
    """All runs, the oldest first."""
    return [Run(**run) for run in json.loads(results.read_bytes())["runs"]]


def latest(runs: Sequence[Run]) -> list[Run]:
    """The last run of each version of each implementation, by name and version."""
    return sorted({run.title: run for run in runs}.values(), key=lambda run: (run.name.lower(), run.version))


def render_results() -> str:
    """The section."""
    shown = latest(read_runs())
    parts = {"overview": _overview(shown), "badges": _badges(shown), "by_clause": _by_clause(shown)}
    page = Path(__file__).with_name("results_page.txt").read_text("utf-8")
    return page.format(**{name: "\n".join(lines) for name, lines in parts.items()})


def badges(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """File name and SVG of a badge for each part that an implementation offers."""
    for run in latest(runs):
        for part in PARTS:
            passed, failed = run.tally(part)
            if passed + failed:
                color = "red" if failed else "brightgreen"
                message = f"{passed} of {passed + failed} cases pass"
                yield badge_name(run, part), badge_picture(f"RocketMQ 4.9.3 {part}", message, color)


def badge_name(run: Run, part: str) -> str:
    """The file name of a badge: letters, digits, points and hyphens of name and version."""
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', run.title).strip('-').lower()}-{part}.svg"


def family_of(clause: str) -> str:
    """The part of the store that a clause is about: index, service, queue, log or checkpoint."""
    if clause.startswith("IDX-SVC-"):
        return "service"
    kinds = {"IDX": "index", "CQ": "queue", "LOG": "log", "UTF8": "log", "CKP": "checkpoint"}
    return kinds[clause.partition("-")[0]]


def _overview(shown: Sequence[Run]) -> Iterator[str]:
    yield f"| implementation | language | run | suite | {' | '.join(PARTS)} | clauses that differ |"
    yield "|---|---|---|---|" + "---:|" * len(PARTS) + "---|"
    for run in shown:
        counts: list[str] = []
        for part in PARTS:
            passed, failed = run.tally(part)
            counts.append(f"{passed} of {passed + failed}" if passed + failed else "")
        broken = [clause for clause in clauses() if run.clauses.get(clause, (0, 0, ""))[1]]
        cells = (run.title, run.language, run.started[:10], run.suite, *counts, ", ".join(broken) or "none")
        yield f"| {' | '.join(cells)} |"


def _badges(shown: Sequence[Run]) -> Iterator[str]:
    for run in shown:
        offered = [part for part in PARTS if sum(run.tally(part))]
        yield ""
        yield f"{run.title}:"
        yield " ".join(
            f'<img class="badge" src="../badges/{badge_name(run, part)}" alt="{part}, {run.title}">'
            for part in offered
        )


def _by_clause(shown: Sequence[Run]) -> Iterator[str]:
    yield f"| clause | level | {' | '.join(run.title for run in shown)} |"
    yield "|---|---|" + ":---:|" * len(shown)
    for clause in clauses().values():
        cells = [run.clauses.get(clause.id) for run in shown]
        if any(cells):
            marks = [
                f"{'✗' if cell[1] else '✓'} {cell[0]}/{cell[0] + cell[1]}" if cell else "" for cell in cells
            ]
            yield f"| {clause.id} | {clause.level} | {' | '.join(marks)} |"
