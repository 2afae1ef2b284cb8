"""A trial: one case in a run, from what is sent to its verdict; what verdicts add up to, and the exit code of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from rocket_spec.printable import printable
from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import (
    Difference,
    collect_files,
    differences,
    fill_directory,
    rejected_files,
)
from rocket_conformance.protocol import Answer, case_message

Verdict = Literal[
    "pass", "diverged", "errored", "crash", "timeout", "unstable",
    "skipped", "unsupported", "not_applicable", "disputed",
]  # fmt: skip
"""Of a case. `disputed`: reference and real jar disagree, which is the suite's own error."""

VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

FAILING: Final[frozenset[Verdict]] = frozenset[Verdict](
    ("diverged", "errored", "crash", "timeout", "unstable")
)
"""Verdicts that are the implementation's fault."""

_RAN: Final[frozenset[Verdict]] = FAILING.union(("pass",))


INTERRUPTED: Final = 130
DISPUTED: Final = 7
_FAILED: Final = 1
_STALE: Final = 6
_NOTHING_RAN: Final = 5
_INCOMPLETE: Final = 4


def exit_code(
    counts: Mapping[Verdict, int],
    *,
    failed: int,
    stale: bool = False,
    cut_short: bool = False,
    missing_required: bool = False,
) -> int:
    """The exit code of a run: the first that applies of 7, 1, 6, 5, 4, 0; `failed` are cases that no baseline line excuses."""
    if counts.get("disputed", 0):
        return DISPUTED
    if failed:
        return _FAILED
    if stale:
        return _STALE
    if not any(counts.get(verdict, 0) for verdict in _RAN):
        return _NOTHING_RAN
    if counts.get("skipped", 0) or counts.get("unsupported", 0) or cut_short or missing_required:
        return _INCOMPLETE
    return 0


# --- trials -------------------------------------------------------------------------------------------

_ROLES: Final = frozenset({"index", "queue", "checkpoint"})

_LEFT_OUT: Final[tuple[Verdict, ...]] = ("unsupported", "skipped")

_MOST_BEYOND: Final = 256 << 10
"""Maximum number of unexpected bytes of files that are kept of a failed case."""


@dataclass(slots=True, eq=False)
class Trial:
    """One case in a run: it is sent, answered and judged, and each step fills in its part."""

    case: Case  # what is sent
    expected: Observation  # what the reference made of it
    # where its files are, made when it is sent; the name is the id of the trial in the run
    directory: Path = Path()
    seconds: float | None = None  # how long it may compute, if that is less than the transport's own limit
    since: float = 0.0  # when it was made, of the monotonic clock
    # seconds of processor time until its answer, of one that has a limit; None if that is not known, or a
    # process had just started
    computed: float | None = None
    answer: Answer | None = None  # of the right form; None without one
    ended: bool = False  # whether the process was lost over it, and has to be started again
    verdict: Verdict = "pass"  # of this one run
    detail: str = ""  # what happened, where it is not a difference, safe to show
    # what was observed; None without an answer. Files that hold far more than expected are kept as digests.
    actual: Observation | None = None
    found: tuple[Difference, ...] = ()  # the differences, empty unless diverged

    @property
    def token(self) -> str:
        """Its id in the run."""
        return self.directory.name

    def prepare(self) -> dict[str, Any]:
        """Makes the directory afresh with the files that are in it, and returns the message.

        Raises OSError: when the directory cannot be made.
        """
        remove_tree(self.directory)
        fill_directory(self.directory, self.case.files)
        return self.message

    @property
    def message(self) -> dict[str, Any]:
        """The message that sends it."""
        return case_message(self.token, str(self.directory), self.case.ops)

    def fail(self, verdict: Verdict, detail: str, *, ended: bool = False) -> Self:
        """Itself, with a verdict that is no comparison."""
        self.verdict, self.detail, self.ended = verdict, detail, ended
        return self

    def judge(self) -> Self:
        """Itself, with its answer and the files in its directory compared with what is expected, if there is an answer."""
        if self.answer is None:
            return self
        results = self.answer.results
        for place, result in enumerate(results):
            if "errored" in result:
                return self.fail(
                    "errored", f"operation {place} ({self.case.ops[place]['op']}): {result['errored']}"
                )
        try:
            listed = [path for role, path in self.answer.files if role in _ROLES]
            files = collect_files(
                self.case, self.directory, self.expected.results, listed, self.expected.files
            )
            actual = Observation(results, files)
        except (ValueError, OSError) as error:
            return self.fail("errored", printable(f"files of the answer: {error}"))
        for place, result in enumerate(results):
            for word in _LEFT_OUT:
                if word in result:
                    why = result[word] if isinstance(result[word], str) else word
                    return self.fail(word, f"operation {place} ({self.case.ops[place]['op']}): {why}")
        return self.observe(actual)

    def observe(self, actual: Observation) -> Self:
        """Itself, with what was observed compared with what is expected."""
        self.found = tuple(differences(self.case, self.expected, actual))
        beyond = actual.held > self.expected.held + _MOST_BEYOND
        self.actual = actual.without_bytes() if beyond else actual
        self.verdict = "diverged" if self.found else "pass"
        return self


_LARGEST: Final = 1 << 20
"""Bytes of files that a case may have: comparing a file of the default geometry takes a second."""


def can_be_run(case: Case, expected: Observation) -> bool:
    """Whether a case is small enough to be run once for each misreading."""
    return all(image.size <= _LARGEST for images in (case.files, expected.files) for image in images.values())


def disagreement(case: Case, reference: Observation) -> list[Difference]:
    """The difference between the reference and the real jar's recorded results, if the case has these."""
    if case.expected is None:
        return []
    if len(case.expected.results) != len(reference.results):
        lengths = len(case.expected.results), len(reference.results)
        return [Difference(None, "results", None, None, "wrong value", *lengths)]
    rejected = rejected_files(case, reference.results)
    files = {path: image for path, image in case.expected.files.items() if path not in rejected}
    return differences(case, Observation(case.expected.results, files), reference)


def disputed_at(first: Difference, *, jar: Any, reference: Any) -> str:
    """The sentence on a case of which the real jar and the reference make different things, of the first difference."""
    where = first.file if first.op is None else f"operation {first.op}"
    values = ["none" if value is None else repr(value) for value in (jar, reference)]
    return f"{where and f'{where}, '}{first.field}: the real jar has {values[0]}, the reference {values[1]}"
