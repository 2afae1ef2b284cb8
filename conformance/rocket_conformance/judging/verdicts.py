"""Verdicts, what they add up to, and the exit code of a run."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

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
    """The exit code of a run: the first that applies of 7, 1, 6, 5, 4, 0.

    Args:
        counts: cases by verdict.
        failed: cases with a failing verdict that no baseline line excuses.
        stale: whether a baseline line matched nothing, or a case that passed.
        cut_short: whether the run ended before its last case.
        missing_required: whether a required family lacks operations.
    """
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
