"""The account of a run: what to mend, in the order in which to mend it. Every form of the report is rendered from it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.conclusion import FailingClause, conclusions, failing_clauses
from rocket_conformance.report.lines import CaseLine, Report
from rocket_conformance.report.wording import describe_divergence, happened, value_text

_OPERATION: Final = re.compile(r"operation \d+ \(([a-z]+\.[a-z_]+)\): ")
_ENDS: Final = {
    "crash": ("crashes", "crash"),
    "timeout": ("hangs", "hang"),
    "errored": ("ends in an error of the adapter", "end in an error of the adapter"),
    "unstable": ("fails beside others and passes alone", "fail beside others and pass alone"),
}
_MOST_HIDDEN: Final = 3


Kind = Literal["stop", "cause", "clause", "follows"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to mend.

    Attributes:
        kind: what stops the adapter in an operation, a cause, a clause without one, or a clause that may follow from the others.
        clause: the one that it is about.
        title: what it is, in one line.
        notes: what it costs and what goes with it, a sentence each.
        example: the case that shows it best.
        cases: those that fail so, without those of an earlier item.
        names: the ids of all of them.
    """

    kind: Kind
    clause: str
    title: str
    notes: Sequence[str]
    example: CaseLine
    cases: Sequence[CaseLine]
    names: frozenset[str]

    @property
    def known(self) -> bool:
        """Whether the baseline excuses all of its cases."""
        return all(line.baselined for line in (self.example, *self.cases))

    @property
    def first(self) -> str:
        """What its example shows first: a difference, or what happened."""
        found = describe_divergence(self.example.divergence[:1])
        shown = found[0].partition(": ")[2] if found else happened(self.example)[0]
        return f"{self.example.id.partition('/')[2]}: {shown}"


@dataclass(frozen=True, slots=True)
class Account:
    """The conclusion of a run.

    Attributes:
        items: crashes and hangs by operation, then causes, clauses without a cause as one rests on another, and those that may follow.
        verdict: the last lines.
    """

    items: Sequence[Item]
    verdict: Sequence[str]

    def items_of(self, case: str) -> list[Item]:
        """The items that a failing case belongs to."""
        return [item for item in self.items if case in item.names]


def account_of(report: Report, *, named: bool = True) -> Account:
    """The account of a report; with `named`, its verdict names the failing clauses."""
    left = {line.id: line for line in report.cases if line.verdict in FAILING}
    items = [*_stops(left), *_causes(report, left)]
    clauses = [*_clauses(failing_clauses(report), left)]
    own = [item for item in clauses if item.kind == "clause"]
    if not items and not own:  # then they follow from nothing
        own, clauses = clauses, []
    return Account(
        [*items, *own, *(item for item in clauses if item.kind == "follows")],
        conclusions(report, named=named),
    )


def _stops(left: dict[str, CaseLine]) -> Iterator[Item]:
    """What ends without an answer, by verdict and operation; the cases are taken out of `left`."""
    groups: dict[tuple[str, str], list[CaseLine]] = {}
    for line in [line for line in left.values() if line.verdict in _ENDS]:
        found = _OPERATION.search(line.detail)
        groups.setdefault((line.verdict, found[1] if found else ""), []).append(left.pop(line.id))
    order = list(_ENDS)
    for (verdict, operation), lines in sorted(
        groups.items(), key=lambda group: (order.index(group[0][0]), -len(group[1]))
    ):
        words = _ENDS[verdict][len(lines) > 1]
        where = f" in {operation}" if operation else ""
        title = f"{len(lines)} {'cases' if len(lines) > 1 else 'case'} {words}{where}{_known(lines)}"
        example = min(lines, key=lambda line: (line.examples > 1, line.id))
        yield Item("stop", example.clauses[0], title, _costs(lines, example), example, lines, _ids(lines))


def _causes(report: Report, left: dict[str, CaseLine]) -> Iterator[Item]:
    """The causes of the footer; the cases are taken out of `left`, those of several causes by the first."""
    for cause in causes_of(report):
        names = frozenset((*cause["cases"], *cause["properties"]))
        mine = [line for line in report.cases if line.id in names]
        example = next((line for line in mine if line.id == cause["example"]), None)
        if example is not None:
            lines = [left.pop(line.id) for line in mine if line.id in left]
            title, notes = (
                cause_title(cause),
                [*_costs(mine, example, of=cause["clause"]), *_beside(cause)],
            )
            yield Item("cause", cause["clause"], title + _known(mine), notes, example, lines, names)


def causes_of(report: Report) -> list[Mapping[str, Any]]:
    """The causes that the footer states; none of a report of an earlier version."""
    causes: list[Mapping[str, Any]] = (report.footer or {}).get("causes", [])
    return [cause for cause in causes if "shows" in cause]


def cause_title(cause: Mapping[str, Any]) -> str:
    """A cause in one line, with both of its numbers."""
    exactly, shows = len(cause["cases"]), cause["shows"]
    share = f"all {shows} cases" if exactly == shows else f"{exactly} of the {shows} cases"
    share = "the one case" if shows == 1 else share
    how = "exactly as" if exactly == shows else "possibly"
    return f"{how}: {' or '.join(map(value_text, cause['misreadings']))}: same answers and bytes in {share} in which it would show"


def _beside(cause: Mapping[str, Any]) -> Iterator[str]:
    if cause["together"]:
        yield f"Mend it together with {' and '.join(map(value_text, cause['together']))}: either alone would break cases that pass now."
    if count := len(cause["properties"]):
        drawn = "property fails" if count == 1 else "properties fail"
        yield f"{count} {drawn} in the same way, as far as the first lists go that were kept."
    if 0 < len(cause["hidden"]) <= _MOST_HIDDEN:
        yield f"It hides {' or '.join(map(value_text, cause['hidden']))}, if the implementation has that, too."


def _clauses(failing: Sequence[FailingClause], left: Mapping[str, CaseLine]) -> Iterator[Item]:
    for clause in failing:
        lines = [line for line in clause.cases if line.id in left]
        if not lines:
            continue
        rest = "" if len(lines) == len(clause.cases) else f", {len(lines)} of them without a cause above"
        known = _known(clause.cases)
        title = (
            f"{clause.clause} ({clause.level}): {len(clause.cases)} of {clause.ran} cases fail{rest}{known}"
        )
        if clause.elsewhere:
            title += f"; first differences: {', '.join(map(value_text, clause.elsewhere))}"
        kind: Kind = "follows" if clause.elsewhere else "clause"
        yield Item(kind, clause.clause, title, _costs(lines, lines[0]), lines[0], lines, _ids(lines))


def _ids(lines: Sequence[CaseLine]) -> frozenset[str]:
    return frozenset(line.id for line in lines)


def _known(lines: Sequence[CaseLine]) -> str:
    return ", all known" if all(line.baselined for line in lines) else ""


def _costs(lines: Sequence[CaseLine], example: CaseLine, *, of: str = "") -> list[str]:
    """What the example or one of the cases catches and costs; of a cause, what its clause costs alone."""
    described = (line for line in (example, *lines) if line.description and of in {"", line.clauses[0]})
    text = printable(next((line.description for line in described), ""), limit=None)
    text = text[text.find("Cost: ") :] if of and "Cost: " in text else text
    return [text] if text else []
