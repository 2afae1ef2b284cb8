"""Plants misreadings together, and scores what reports claim: `python -m tools.cause_scores [SEED [PAIRS TRIPLES]]`."""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from rocket_conformance.attribution import MOST_RUNS, Evidence, Simulation, find_causes, is_same, part_of
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import specified
from rocket_conformance.files import scratch_root
from rocket_conformance.judging import Trial, can_be_run
from rocket_conformance.misreadings import MISREADINGS, Mutant, library_of
from rocket_conformance.planning import CaseState, Planned, plan
from rocket_spec.data import find_data

_PARTS: Final = {
    "key": "IDX", "index": "IDX", "service": "IDX", "tags": "CQ IDX", "queue": "CQ IDX", "log": "LOG CQ IDX", "checkpoint": "CKP IDX",
}  # fmt: skip
"""By kind of operation, the parts of the format whose misreadings it can show."""
_REMEMBERED: Final = 200_000
"""Runs of a case whose outcome each process keeps."""
_ONE_OF: Final = 8
"""One in this many of the cases drawn from a seed is run: they are long, and many show the same."""
_CHUNK: Final = 8
"""Sets that a process takes at once: neighbours share misreadings."""


@dataclass(frozen=True, slots=True)
class Score:
    """Claims of a report about an implementation with planted misreadings."""

    planted: tuple[str, ...]
    shown: frozenset[str]  # those of them that more than one failing case needs
    first: str  # the clause of the first cause; empty without any
    named: frozenset[str]  # all misreadings that a cause names, those aside that are possible causes alone
    others: int  # the number of such causes of whose misreadings none is planted
    failing: int  # the number of cases that fail
    claimed: int  # the number of those that a cause claims
    # claimed cases that still fail when the misreadings that the cause names are mended
    false: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether each of them is named that more than one case shows, and nothing is wrong."""
        return self.named >= self.shown and not self.others and not self.false


@cache
def _cases() -> tuple[tuple[Planned, Case, Observation], ...]:
    """The cases on small files, with what the reference does."""
    found: list[tuple[Planned, Case, Observation]] = []
    with TemporaryDirectory(prefix="rocketspec-") as folder:
        planned = [item for item in plan() if isinstance(item.source, Case)]
        directed = [item for item in planned if item.is_directed and "default-geometry" not in item.id]
        drawn = [item for item in planned if not item.is_directed]
        for item in (*directed, *drawn[::_ONE_OF]):
            source = item.source
            if isinstance(source, Case):
                case, expected = specified(source, Path(folder, "case"))
                if can_be_run(case, expected):
                    found.append((item, replace(case, files=dict(case.files)), expected))
    return tuple(found)


@cache
def _by_id() -> dict[str, tuple[Case, Observation]]:
    return {item.id: (case, expected) for item, case, expected in _cases()}


class _Shared(Simulation):
    """Runs each set of misreadings once on a case, without those that its operations cannot reach."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="rocketspec-", dir=scratch_root())
        self._remembered = lru_cache(_REMEMBERED)(self._run)
        super().__init__(lambda: Path(self._folder.name, "case"))

    def observe(
        self, misreadings: frozenset[Mutant], case: Case, expected: Observation
    ) -> Observation | None:
        """As a run does; the case is one of `_cases`."""
        parts = " ".join(_PARTS[op["op"].partition(".")[0]] for op in case.ops)
        reached = frozenset(mutant for mutant in misreadings if part_of(mutant.clause) in parts)
        return self._remembered(reached, case.id) if reached else expected

    def _run(self, misreadings: frozenset[Mutant], name: str) -> Observation | None:
        case, expected = _by_id()[name]
        shown = super().observe(misreadings, case, expected)
        return expected if shown == expected else shown


_simulation = cache(_Shared)


def _still_fails(trial: Trial, left: frozenset[Mutant]) -> bool:
    """Whether a failing case still fails with the misreadings that are left; one that hangs, whether it hangs at the same operation."""
    if trial.actual is None:
        place = _simulation().stuck_at(left, trial.case)
        return place is not None and trial.detail.startswith(f"operation {place} ")
    shown = _simulation().observe(left, trial.case, trial.expected)
    return shown is None or not is_same(trial.expected, shown)


def score(
    planted: Sequence[Mutant], misreadings: Sequence[Mutant] = MISREADINGS, *, most_runs: int = MOST_RUNS
) -> Score:
    """Runs the small cases of their parts on the reference with all planted misreadings, and scores the causes that are found.

    `misreadings` is the catalogue that causes are looked for in; for `most_runs` see `find_causes`. ValueError when planted ones change the
    same text.
    """
    failures: list[CaseState] = []
    passed: dict[str, list[str]] = {}
    drawn: list[str] = []
    parts = {part_of(mutant.clause) for mutant in planted}
    near = [entry for entry in _cases() if part_of(entry[0].clauses[0]) in parts]
    everything = frozenset(planted)
    simulation = _simulation()
    for item, case, expected in near:
        shown = simulation.observe(everything, case, expected)
        if shown is None:
            place = simulation.stuck_at(everything, case)
            if place is not None:
                trial = Trial(case, expected).fail("timeout", f"operation {place} ({case.ops[place]['op']})")
                failures.append(CaseState(item, trial.verdict, trial.detail, worst=trial))
        elif not is_same(expected, shown):
            trial = Trial(case, expected).observe(shown)
            failures.append(CaseState(item, trial.verdict, worst=trial))
        elif item.is_directed:
            passed.setdefault(item.clauses[0], []).append(item.id)
        else:
            drawn.append(item.id)
    evidence = Evidence(failures, simulation, passed, drawn, _by_id().__getitem__, misreadings)
    causes = find_causes(evidence, most_runs=most_runs)

    def is_needed(mutant: Mutant, trial: Trial) -> bool:
        shown = simulation.observe(everything - {mutant}, trial.case, trial.expected)
        return trial.actual is not None and (shown is None or not is_same(trial.actual, shown))

    claimed: dict[str, tuple[CaseState, list[Mutant]]] = {}
    for cause in causes:
        for failure in cause.failures + (cause.hangs if cause.is_sure else ()):
            _, mended = claimed.setdefault(failure.id, (failure, []))
            mended += [*cause.misreadings, *cause.hidden]
    false = [
        name
        for name, (failure, mended) in claimed.items()
        if _still_fails(failure.shown, everything - set(mended))
    ]
    return Score(
        planted=tuple(mutant.name for mutant in planted),
        shown=frozenset(
            mutant.name
            for mutant in planted
            if sum(islice((True for item in failures if is_needed(mutant, item.shown)), 2)) == 2
        ),
        first=causes[0].misreadings[0].clause if causes else "",
        named=frozenset(mutant.name for cause in causes if cause.is_sure for mutant in cause.misreadings),
        others=sum(cause.is_sure and everything.isdisjoint(cause.misreadings) for cause in causes),
        failing=len(failures),
        claimed=len(claimed),
        false=tuple(false),
    )


def pairs(seed: int, misreadings: Sequence[Mutant] = MISREADINGS) -> Iterator[tuple[Mutant, ...]]:
    """For each two families of clauses, misreadings of both that can be combined, drawn from the seed."""
    families: dict[str, list[Mutant]] = {}
    for mutant in misreadings:
        families.setdefault(mutant.clause.rpartition("-")[0], []).append(mutant)
    rng = Random(seed)
    both = list(combinations(families.values(), 2))
    rng.shuffle(both)
    for one, other in both:
        drawn = [(a, b) for a in one for b in other]
        rng.shuffle(drawn)
        yield from islice(filter(_can_be_combined, drawn), 1)


def triples(seed: int, misreadings: Sequence[Mutant] = MISREADINGS) -> Iterator[tuple[Mutant, ...]]:
    """Misreadings of three families that can be combined, without end."""
    rng = Random(seed)
    while True:
        drawn = tuple(rng.sample(misreadings, 3))
        if len({mutant.clause.rpartition("-")[0] for mutant in drawn}) == 3 and _can_be_combined(drawn):
            yield drawn


def _can_be_combined(misreadings: Sequence[Mutant]) -> bool:
    try:
        library_of(frozenset(misreadings))
    except ValueError:
        return False
    return True


def render(kind: str, seed: int, scores: Sequence[Score]) -> str:
    """A row of the page for the scores of one kind of set."""
    planted, shown = (sum(len(getattr(item, name)) for item in scores) for name in ("planted", "shown"))
    named = sum(len(item.named.intersection(item.planted)) for item in scores)
    others, failing, claimed = (
        sum(getattr(item, name) for item in scores) for name in ("others", "failing", "claimed")
    )
    false = sum(len(item.false) for item in scores)
    return (
        f"| {kind} | {seed} | {len(scores)} | {planted} | {shown} | {named} | {others} | "
        f"{claimed} of {failing} | {false} |"
    )


def main() -> None:
    """Scores pairs and triples, and writes conformance/CAUSES.md."""
    seed, most_pairs, most_triples = (
        int(text) for text in (*sys.argv[1:4], *("0", "1000", "300")[len(sys.argv) - 1 :])
    )
    rows: list[str] = []
    with ProcessPoolExecutor() as workers:
        for kind, drawn, most in (
            ("pairs", pairs(seed), most_pairs),
            ("triples", triples(seed), most_triples),
        ):
            scores: list[Score] = []
            for item in workers.map(score, list(islice(drawn, most)), chunksize=_CHUNK):
                scores.append(item)
                if not item.whole:
                    left = ", ".join(sorted(item.shown - item.named))
                    sys.stderr.write(
                        f"{', '.join(item.planted)}: not named {left}; others {item.others}; false {item.false}\n"
                    )
            rows.append(render(kind, seed, scores))
            sys.stderr.write(f"{rows[-1]}\n")
    page = find_data("conformance/PROTOCOL.md").with_name("CAUSES.md")
    head = Path(__file__).with_name("causes_page.txt").read_text("utf-8")
    page.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
