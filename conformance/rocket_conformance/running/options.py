"""Options of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rocket_reference import Rules
from rocket_spec.profiles import Profile

from rocket_conformance.planning import Level
from rocket_conformance.report import Baseline

DEFAULT_EXAMPLES: Final = 100
"""Lists of a property in a whole run."""

DEFAULT_RESTARTS: Final = 10
"""Crashes and hangs of a family of clauses after which the rest of that family is skipped."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run.

    Attributes:
        select: globs on case ids; none for all.
        level: `must` leaves out what only OBSERVED clauses ask for.
        examples: lists per property.
        seed: of the generator.
        require: families whose operations must all be declared.
        baseline: what is known to fail.
        restarts: crashes and hangs of a family of clauses (`IDX-SEL`) after which the rest of that family is skipped.
        fail_fast: whether the run ends at the first failure that the baseline does not excuse.
        shrink_seconds: longest time to spend on making failing lists smaller, all of them together.
        command: the adapter's command, for the report.
        scratch: the folder to make temporary folders in; None for the fastest there is.
        profile: of the release that is aimed at.
        replays: whether replay files are made of what fails; they take longest where files are large.
    """

    select: Sequence[str] = ()
    level: Level = "observed"
    examples: int = DEFAULT_EXAMPLES
    seed: int = 0
    require: Sequence[str] = ()
    baseline: Baseline = field(default_factory=Baseline)
    restarts: int = DEFAULT_RESTARTS
    fail_fast: bool = False
    shrink_seconds: float = 30.0
    command: Sequence[str] = ()
    scratch: Path | None = None
    replays: bool = True
    profile: Profile = field(default_factory=Profile)

    @property
    def narrowed(self) -> list[str]:
        """The options that leave out part of the suite, as they are given; empty of a whole run."""
        given = {
            "--select": self.select,
            "--level must": self.level == "must",
            f"--examples {self.examples}": self.examples < DEFAULT_EXAMPLES,
            "--fail-fast": self.fail_fast,
        }
        return [option for option, is_given in given.items() if is_given]

    @property
    def rules(self) -> Rules:
        """The parameters of the reference."""
        return Rules(**self.profile.rules)
