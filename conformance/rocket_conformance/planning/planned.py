"""The selected cases and properties of a run, and whether they apply to the adapter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Final, Literal

from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_conformance.cases import Case, directed_case, directed_ids
from rocket_conformance.judging import Trial, Verdict
from rocket_conformance.planning.fitting import fit_drawn, is_odd, limit_broken, variant_of, what_lacks
from rocket_conformance.planning.must_level import is_beyond_must, level_of, must_lists
from rocket_conformance.properties import PROPERTIES, Property, examples
from rocket_conformance.protocol import Hello

_BIG: Final = 1 << 26
"""Size from which the files of a port with a fixed geometry are big."""

_BIG_EXAMPLES: Final = 10
"""Number of lists of each property for such a port."""

Level = Literal["must", "observed"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A case or a property: one line of the report either way."""

    source: Case | Property

    @property
    def id(self) -> str:
        """Its id, `CLAUSE/slug`."""
        return self.source.id

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses it is evidence of."""
        return self.source.clauses

    @property
    def level(self) -> str:
        """MUST or OBSERVED: that of its first clause; OBSERVED for a case that a misreading of an OBSERVED clause answers differently.

        It is OBSERVED too if it asks for what no broker has.
        """
        if is_beyond_must(self.id) or (not isinstance(self.source, Property) and is_odd(self.source)):
            return "OBSERVED"
        return level_of(self.clauses[0])

    @property
    def is_property(self) -> bool:
        """Whether it is a property."""
        return isinstance(self.source, Property)

    @property
    def is_directed(self) -> bool:
        """Whether it was written for its first clause: no property, and no vector drawn from a seed."""
        return not self.is_property and "/seeded-" not in self.id

    @property
    def ops(self) -> frozenset[str]:
        """The operations it needs; a property leaves out others that are not declared."""
        return self.source.needs if isinstance(self.source, Property) else self.source.op_names

    def obstacle(self, hello: Hello) -> str | None:
        """The reason why it does not apply to the adapter; None if it does."""
        missing = self.ops - hello.ops
        if missing:
            return f"not declared: {', '.join(sorted(missing))}"
        lacking = self.source.features - hello.features
        if lacking:
            return f"needs the feature {', '.join(sorted(lacking))}"
        limit = self._limit(hello.features)
        if limit is not None:
            return f"ruled out by the feature {limit}"
        if isinstance(self.source, Property):
            return "needs any geometry" if self.source.any_geometry and hello.geometries is not None else None
        return None if variant_of(self.source, hello) else f"needs {what_lacks(self.source, hello)}"

    def _limit(self, features: frozenset[str]) -> str | None:
        """The limit of the adapter that it is about to go beyond; None without any."""
        if isinstance(self.source, Property):
            return self.source.beyond if self.source.beyond in features else None
        results = self.source.expected.results if self.source.expected is not None else ()
        return limit_broken(self.source, results, features)

    def instances(self, *, seed: int, count: int, hello: Hello, level: Level = "observed") -> Iterator[Case]:
        """The case itself, or its variant for a fixed geometry, or the lists of the property: at `must` those within MUST clauses."""
        if isinstance(self.source, Property):
            if any(Geometry(*pair).file_size > _BIG for pair in hello.geometries or ()):
                count = min(count, _BIG_EXAMPLES)
            lists = must_lists if level == "must" else examples
            for drawn in lists(self.source, seed=seed, count=count, geometries=hello.geometries):
                fitted = fit_drawn(drawn, hello)
                if fitted is not None:
                    yield fitted
        else:
            yield variant_of(self.source, hello) or self.source


def plan(*, select: Sequence[str] = (), level: Level = "observed") -> list[Planned]:
    """All cases and properties whose id matches one of the globs, in the order of their ids.

    Args:
        select: globs on the whole id, `*` crosses `/`; none selects all.
        level: `must` leaves out what only OBSERVED clauses ask for.

    Raises:
        UsageError: when nothing is selected.
    """
    properties = {item.id: item for item in PROPERTIES}
    planned = [
        Planned(properties.get(name) or directed_case(name))
        for name in all_ids()
        if not select or any(fnmatchcase(name, glob) for glob in select)
    ]
    chosen = [item for item in planned if level != "must" or item.level == "MUST"]
    if planned and not chosen:
        raise UsageError(f"--level must leaves out every case that matches {', '.join(select)}")
    if not chosen:
        raise UsageError(f"no case matches {', '.join(select)}; ids look like IDX-PUT-5/slot-equals-count")
    return chosen


@cache
def all_ids() -> tuple[str, ...]:
    """The ids of all cases and properties, in their order."""
    return tuple(sorted((*directed_ids(), *(item.id for item in PROPERTIES)), key=_order))


def _order(name: str) -> tuple[str, int, bool, str]:
    clause, _, slug = name.partition("/")
    family, _, number = clause.rpartition("-")
    return family, int(number) if number.isdigit() else 0, slug.startswith("prop-"), slug


def planned_by_id(name: str) -> Planned:
    """The case or property with this id.

    Raises:
        UsageError: when there is none.
    """
    if any(char in name for char in "*?["):
        raise UsageError(f"{name!r:.200} is not the id of one case")
    return plan(select=(name,))[0]


# --- while it runs ------------------------------------------------------------------------------------

_SEVERITY: Final[tuple[Verdict, ...]] = (
    "disputed", "crash", "timeout", "diverged", "errored", "unstable", "unsupported", "skipped", "pass",
)  # fmt: skip

_KEPT: Final = 5
"""Failing examples that are kept to look for the cause."""


@dataclass(slots=True, eq=False)
class CaseState:
    """The state of one planned case while it runs, and what is known of it when it has failed.

    Attributes:
        planned: the case or property.
        verdict: the worst of its examples so far.
        detail: what happened, in words.
        examples: number of examples that were judged.
        failing: number of those that did not pass.
        millis: time between sending and judging, all examples together.
        drawn: whether no further example will be sent.
        whole: whether all its examples were sent.
        worst: the smallest example with that verdict, made smaller at the end.
        alike: of a property, a few examples with that verdict, the first ones.
    """

    planned: Planned
    verdict: Verdict = "pass"
    detail: str = ""
    examples: int = 0
    failing: int = 0
    millis: float = 0.0
    drawn: bool = False
    whole: bool = False
    worst: Trial | None = None
    alike: list[Trial] = field(default_factory=list["Trial"])

    @property
    def id(self) -> str:
        """Its id, `CLAUSE/slug`."""
        return self.planned.id

    @property
    def clause(self) -> str:
        """The clause that it is named after."""
        return self.planned.clauses[0]

    @property
    def family(self) -> str:
        """The family of clauses that it belongs to, such as `IDX-SEL`."""
        return self.clause.rpartition("-")[0]

    @property
    def shown(self) -> Trial:
        """The smallest example that failed, of a case that has one."""
        assert self.worst is not None
        return self.worst

    @property
    def trials(self) -> list[Trial]:
        """The examples that failed, as far as they were kept."""
        return [self.shown, *self.alike]

    @property
    def all_kept(self) -> bool:
        """Whether those are all that failed; a property with others is claimed for no cause."""
        return not self.planned.is_property or self.failing <= len(self.alike)

    def add(self, trial: Trial) -> None:
        """Counts one example; the smallest failing one is kept."""
        self.examples += 1
        if trial.verdict != "pass":
            self.failing += 1
        if _SEVERITY.index(trial.verdict) < _SEVERITY.index(self.verdict):
            self.verdict, self.detail, self.worst = trial.verdict, trial.detail, None
            self.alike.clear()
        if trial.verdict != self.verdict or trial.verdict == "pass":
            return
        if self.planned.is_property and len(self.alike) < _KEPT:
            self.alike.append(trial)
        if self.worst is None or len(trial.case.ops) < len(self.worst.case.ops):
            self.worst = trial

    def dispute(self, case: Case, detail: str) -> None:
        """Records that reference and real jar disagree on an example."""
        self.examples += 1
        self.verdict, self.detail, self.worst = (
            "disputed",
            f"{case.producer}{case.producer and ': '}{detail}",
            None,
        )

    def skip(self, reason: str) -> None:
        """Records that not all examples ran, and why."""
        self.verdict = "skipped"
        self.detail = f"not all ran: {reason}" if self.examples else reason
