"""The baseline: a text file in which the implementer lists what is known to fail, and how."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from rocket_spec.errors import UsageError
from rocket_spec.printable import printable

from rocket_conformance.files import read_input
from rocket_conformance.judging import FAILING, Verdict
from rocket_conformance.report.lines import CaseLine

_LARGEST: Final = 16 << 20
_LONGEST_REASON: Final = 100


@dataclass(frozen=True, slots=True)
class Excuse:
    """One line: a case id or glob, the verdict that it must have, and why."""

    glob: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The lines of a baseline; without any, nothing is excused and nothing is stale."""

    lines: tuple[Excuse, ...] = ()

    def excuses(self, case: str, verdict: Verdict) -> bool:
        """Whether a case may fail like this."""
        return self.reason(case, verdict) is not None

    def reason(self, case: str, verdict: Verdict) -> str | None:
        """Why a case may fail like this; None when it may not."""
        found = (line for line in self.lines if line.verdict == verdict and fnmatchcase(case, line.glob))
        return next((line.reason for line in found), None)

    def stale(self, verdicts: Mapping[str, Verdict], *, unmatched: bool = True) -> list[str]:
        """What is out of date, in words: a line that matches no case which ran, or one that passed.

        Args:
            verdicts: of the cases of the run.
            unmatched: whether those are all of them, so that a line that matches none is out of date.
        """
        found: list[str] = []
        for line in self.lines:
            ran = {
                case: verdict
                for case, verdict in verdicts.items()
                if fnmatchcase(case, line.glob) and verdict != "not_applicable"
            }
            if not ran and unmatched:
                found.append(f"{line.glob}: matches no applicable case of this run")
            found += [
                f"{line.glob}: {case} is {verdict}, not {line.verdict}"
                for case, verdict in ran.items()
                if verdict == "pass"
            ]
        return [printable(text, limit=None) for text in found]


def baseline_text(cases: Iterable[CaseLine], known: Baseline) -> str:
    """A baseline that excuses what fails in a report, one line a case, sorted by id.

    Args:
        cases: the lines of the report.
        known: the baseline so far: its reasons are kept for the cases that still fail that way.
    """
    failing = sorted((case for case in cases if case.verdict in FAILING), key=lambda case: case.id)
    reasons = (known.reason(case.id, case.verdict) or _reason(case) for case in failing)
    lines = [f"{case.id}  {case.verdict}  {reason}\n" for case, reason in zip(failing, reasons, strict=True)]
    return "".join(["# CASE-OR-GLOB  verdict  reason-or-url\n", *lines])


def _reason(case: CaseLine) -> str:
    """What the report states first about a failure."""
    text = f"{case.clauses[0]}: {case.divergence[0]['field']}" if case.divergence else case.detail
    return printable(text.partition("\n")[0], limit=_LONGEST_REASON) or case.verdict


def read_baseline(path: Path) -> Baseline:
    """Reads `CASE-OR-GLOB  verdict  reason-or-url` lines; empty ones and those that start with # are skipped.

    Raises:
        UsageError: naming the line that is not one, or the byte that is not UTF-8.
        MalformedError: when it is not a regular file, or over 16 MiB.
        OSError: when the file cannot be read.
    """
    found: list[Excuse] = []
    data = read_input(path, limit=_LARGEST, expected="a baseline")
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start:,}") from None
    for number, text in enumerate(lines, 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        parts = text.split(maxsplit=2)
        if len(parts) < 3 or parts[1] not in FAILING:
            raise UsageError(
                f"{path}:{number}: expected CASE-OR-GLOB, one of {', '.join(sorted(FAILING))}, and a reason"
            )
        found.append(Excuse(parts[0], parts[1], parts[2].strip()))
    return Baseline(tuple(found))
