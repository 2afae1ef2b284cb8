"""The baseline: a text file in which the implementer lists what is known to fail, and how."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.printable import printable

from rocket_conformance.files import read_input
from rocket_conformance.judging import FAILING, Verdict
from rocket_conformance.report.lines import CaseLine

_LARGEST: Final = 16 << 20
_LONGEST_REASON: Final = 100
_NUMBER: Final = re.compile(r"\[\d+\]| \d+")


def first_difference(divergence: Sequence[Mapping[str, Any]]) -> str:
    """Where a case first differs and how, whatever the numbers: `entry[].key_hash:wrong-bytes`; empty of a crash or a hang."""
    if not divergence:
        return ""
    field, kind = (str(divergence[0][name]) for name in ("field", "kind"))
    return "".join(printable(_NUMBER.sub("[]", f"{field}:{kind}"), limit=None).replace(" ", "-").split())


@dataclass(frozen=True, slots=True)
class Excuse:
    """One line: a case id or glob, the verdict that it must have, why, and the first difference; any if that is empty."""

    glob: str
    verdict: Verdict
    reason: str
    first: str = ""

    def excuses(self, line: CaseLine) -> bool:
        """Whether a case may fail like this."""
        is_same = self.first in {"", first_difference(line.divergence)}
        return line.verdict == self.verdict and is_same and fnmatchcase(line.id, self.glob)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The lines of a baseline; without any, nothing is excused and nothing is stale."""

    lines: tuple[Excuse, ...] = ()

    def excuses(self, line: CaseLine) -> bool:
        """Whether a case may fail like this."""
        return self.reason(line) is not None

    def reason(self, line: CaseLine) -> str | None:
        """Why a case may fail like this; None when it may not."""
        return next((excuse.reason for excuse in self.lines if excuse.excuses(line)), None)

    def stale(self, lines: Sequence[CaseLine], *, unmatched: bool = True) -> list[str]:
        """What is out of date, in words: a line that matches no case which ran, or one that passed or differs elsewhere first.

        Args:
            lines: of the cases of the run.
            unmatched: whether those are all of them, so that a line that matches none is out of date.
        """
        found: list[str] = []
        for excuse in self.lines:
            ran = [
                line
                for line in lines
                if fnmatchcase(line.id, excuse.glob) and line.verdict != "not_applicable"
            ]
            if not ran and unmatched:
                found.append(f"{excuse.glob}: matches no applicable case of this run")
            for line in ran:
                if line.verdict == "pass":
                    found.append(f"{excuse.glob}: {line.id} is pass, not {excuse.verdict}")
                elif line.verdict == excuse.verdict and not excuse.excuses(line):
                    first = first_difference(line.divergence)
                    found.append(f"{excuse.glob}: {line.id} first differs in {first}, not in {excuse.first}")
        return [printable(text, limit=None) for text in found]


def baseline_text(cases: Iterable[CaseLine], known: Baseline) -> str:
    """A baseline that excuses what fails in a report, one line a case, sorted by id.

    Args:
        cases: the lines of the report.
        known: the baseline so far: its reasons are kept for the cases that still fail that way.
    """
    lines = ["# CASE-OR-GLOB  verdict:first-difference  reason-or-url\n"]
    for case in sorted((case for case in cases if case.verdict in FAILING), key=lambda case: case.id):
        first = first_difference(case.divergence)
        verdict = f"{case.verdict}:{first}" if first else case.verdict
        lines.append(f"{case.id}  {verdict}  {known.reason(case) or _reason(case)}\n")
    return "".join(lines)


def _reason(case: CaseLine) -> str:
    """The first statement of the report about a failure."""
    text = f"{case.clauses[0]}: {case.divergence[0]['field']}" if case.divergence else case.detail
    return printable(text.partition("\n")[0], limit=_LONGEST_REASON) or case.verdict


def read_baseline(path: Path) -> Baseline:
    """Reads `CASE-OR-GLOB  verdict[:first-difference]  reason-or-url` lines; empty ones and those that start with # are skipped.

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
        verdict, _, first = parts[1].partition(":") if len(parts) == 3 else ("", "", "")
        if verdict not in FAILING:
            raise UsageError(
                f"{path}:{number}: expected CASE-OR-GLOB, one of {', '.join(sorted(FAILING))}, and a reason"
            )
        found.append(Excuse(parts[0], verdict, parts[2].strip(), first))
    return Baseline(tuple(found))
