"""The conclusion of a report: what to mend, in the order in which to mend it, counts by family, the verdict, and all that on a terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from rich.table import Table
from rich.text import Text
from rocket_spec.clauses import clauses
from rocket_spec.printable import counted, printable
from rocket_spec.profiles import GROUND

from rocket_conformance.judging import FAILING, INTERRUPTED, VERDICTS
from rocket_conformance.protocol import FAMILIES, OPERATIONS
from rocket_conformance.report.lines import (
    CaseLine,
    Report,
    cases_by_verdict,
    describe_divergence,
    describe_operations,
    difference_text,
    happened,
    operation_of,
    value_text,
)

if TYPE_CHECKING:
    from rich.console import Console

# --- conclusion ---------------------------------------------------------------------------------------

_MOST_NAMED: Final = 8
"""Operations that are listed; of more their number is given."""

_MOST_FIELDS: Final = 3
"""Fields of which one line shows a difference."""

_ALL: Final = 1 << 20
"""More clauses than there are."""

_FAMILY_OF: Final = {
    "IDX-SVC": "service",
    "IDX": "index",
    "CQ": "queue",
    "LOG": "log",
    "UTF8": "log",
    "CKP": "checkpoint",
}
"""The part of the format that a clause is about, by the beginning of its id, the longest first."""


def conclusions(report: Report, *, most_named: int = _ALL) -> list[str]:
    """The last lines of a run: one on the levels where only OBSERVED clauses differ, then the verdict.

    Of more failing clauses than that the number is given; on a page each has a section of its own.
    """
    line = _levels(report, most_named=most_named)
    return [*([] if line is None else [line]), conclusion(report, most_named=most_named)]


def conclusion(report: Report, *, most_named: int = _ALL) -> str:
    """The last line of a run: the verdict, what it is for, the failing clauses, and what cut the run short."""
    footer = report.footer
    total = len(report.cases)
    applicable = sum(line.verdict != "not_applicable" for line in report.cases)
    share = f"({applicable} of {total} cases applicable{_without_case(report)})"
    if footer is None:
        return f"cut off: no verdict ({counted(total, 'case')} ran)"
    code = int(footer["exit_code"])
    failed = [line for line in report.cases if line.verdict in FAILING and not line.baselined]
    if code == INTERRUPTED:
        return f"{footer['cut_short']}: no verdict, {counted(len(failed), 'failure')} so far {share}"
    if code == 7:
        disputed = sum(line.verdict == "disputed" for line in report.cases)
        return f"no verdict: the suite's own error, reference and real jar disagree on {counted(disputed, 'case')} {share}"
    if code == 1:
        broken = in_order({line.clauses[0] for line in failed})
        listed = (
            f": {', '.join(broken)}" if len(broken) <= most_named else f" in {counted(len(broken), 'clause')}"
        )
        cut_short = f"; cut short: {footer['cut_short']}" if footer["cut_short"] else ""
        cut_short += f"; {known} aside" if (known := known_text(report)) else ""
        return f"not conformant{release_text(report)}: {len(failed)} of {applicable} cases failed{listed} {share}{cut_short}{_untested(report)}"
    if code == 6:
        return f"no verdict: the baseline is stale in {counted(len(footer['stale']), 'place')} {share}"
    if code == 5:
        return f"no verdict: nothing ran {share}"
    if code == 4:
        return f"incomplete: {_left_out(report, footer)} {share}"
    if partial := partial_text(report):
        return f"{partial} {share}"
    if known := known_text(report):
        return f"conformant{release_text(report)} but for {known}, {_what_for(report)} {share}"
    return f"conformant{release_text(report)} {_what_for(report)} {share}"


def _without_case(report: Report) -> str:
    """The clauses of the families that the adapter has whole of which no case applies, in words; empty if there are none."""
    families: list[str] = (report.footer or {}).get("families", [])
    lines = [line for line in report.cases if family_of(line.id) in families]
    tested = {line.clauses[0] for line in lines if line.verdict != "not_applicable"}
    untested = in_order({line.clauses[0] for line in lines} - tested)
    listed = f": {', '.join(untested)}" if len(untested) <= _MOST_NAMED else ""
    return f"; {counted(len(untested), 'clause')} not tested{listed}" if untested else ""


def partial_text(report: Report) -> str:
    """The verdict of a run without failures that left out part of the suite, and what left it out; empty of a whole run."""
    if not (narrowed := narrowed_by(report)):
        return ""
    release = report.profile
    same = f"all as {release}" + (f" but for {known}" if (known := known_text(report)) else "")
    return f"partial run: {partial_count(report)}, {same} ({', '.join(narrowed)}{_untested(report)})"


def partial_count(report: Report) -> str:
    """The share of the suite that ran: `5 of 687 index cases`."""
    ran = [family_of(line.id) for line in report.cases if line.verdict == "pass" or line.verdict in FAILING]
    families = sorted(set(ran))
    whole: Mapping[str, int] = report.footer["suite_cases"] if report.footer is not None else {}
    cases = sum(whole.get(family, 0) for family in families) or len(report.cases)
    return f"{len(ran):,} of {cases:,} {families[0] + ' ' if len(families) == 1 else ''}cases"


def narrowed_by(report: Report) -> list[str]:
    """Reasons why part of the suite was left out: options, or an adapter with no family whole; empty of a whole run."""
    footer = report.footer
    if footer is None:
        return []
    narrowed: list[str] = list(footer["narrowed"])
    ops: list[str] = footer["ops"]
    if not footer["families"] and ops:
        count = f"{len(ops)} operations" if len(ops) > _MOST_NAMED else ", ".join(ops)
        narrowed.append(f"{count} alone")
    return narrowed


def _untested(report: Report) -> str:
    is_narrowed = report.footer is not None and "--level must" in report.footer["narrowed"]
    return "; OBSERVED behaviour was not tested" if is_narrowed else ""


def release_text(report: Report) -> str:
    """The release whose behaviour was required, if it is not the one that SPEC.md describes."""
    return "" if report.profile == GROUND else f" with RocketMQ {report.profile}"


def known_text(report: Report) -> str:
    """The failures that the baseline excuses, `479 known failures in 12 clauses`; empty where there are none."""
    known = [line for line in report.cases if line.verdict in FAILING and line.baselined]
    if not known:
        return ""
    broken = counted(len({line.clauses[0] for line in known}), "clause")
    return f"{len(known)} known {'failure' if len(known) == 1 else 'failures'} in {broken}"


def tone_of(report: Report) -> str:
    """The style of the verdict: good, bad or unclear; known failures are not good."""
    if report.exit_code == 0:
        return "unclear" if known_text(report) or narrowed_by(report) else "good"
    return "bad" if report.exit_code in {1, 7} else "unclear"


def _levels(report: Report, *, most_named: int) -> str | None:
    """A statement that every MUST clause is met, and which OBSERVED ones are not; None if anything else is the case.

    A failure that the baseline excuses is a failure all the same.
    """
    footer = report.footer
    failed = [line for line in report.cases if line.verdict in FAILING]
    if footer is None or int(footer["exit_code"]) != 1 or footer["cut_short"]:
        return None
    if any(line.level != "OBSERVED" or (line.is_drawn and _is_must(line.clauses[0])) for line in failed):
        return None  # lists that OBSERVED clauses govern, too, may show a MUST clause that is not met
    if any(line.level == "MUST" and line.verdict in {"skipped", "unsupported"} for line in report.cases):
        return None
    differing = in_order({line.clauses[0] for line in failed})
    tested = " that was tested" if _without_case(report) else ""
    behaviours = "behaviour differs" if len(differing) == 1 else "behaviours differ"
    met = (
        f"partial run: no MUST clause differs ({', '.join(narrowed)})"
        if (narrowed := narrowed_by(report))
        else f"conformant{release_text(report)} in every MUST clause{tested} {_what_for(report, '')}"
    )
    return f"{met}; {len(differing)} OBSERVED {behaviours}" + (
        f": {', '.join(differing)}" if len(differing) <= most_named else ""
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Clause ids in the order of SPEC.md, in which what rests on another clause comes after it."""
    places = {name: place for place, name in enumerate(clauses())}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def _what_for(report: Report, clauses_of_store: str = "in every clause ") -> str:
    """The families for which the implementation is conformant, or a store in what it exercises."""
    if report.header["command"][:1] == ["--store"]:
        return f"{clauses_of_store}that the store exercises"
    footer: Mapping[str, Any] = report.footer or {}
    families: list[str] = footer["families"]
    others = [op for op in footer["ops"] if op in OPERATIONS and OPERATIONS[op].family not in families]
    return "for " + ", ".join(families) + (f" and in part {', '.join(others)}" if others else "")


def _left_out(report: Report, footer: Mapping[str, Any]) -> str:
    parts: list[str] = []
    if footer["cut_short"]:
        parts.append(f"cut short, {footer['cut_short']}")
    if footer["missing"]:
        parts.append(f"required and not declared: {', '.join(footer['missing'])}")
    for verdict in ("skipped", "unsupported"):
        count = sum(line.verdict == verdict for line in report.cases)
        if count:
            parts.append(f"{count} {verdict}")
    return "; ".join(parts)


# --- families -----------------------------------------------------------------------------------------


def family_table(report: Report) -> tuple[list[str], dict[str, list[str]]]:
    """The verdicts that there are, and the numbers of cases by family of clauses (`IDX-PUT`) and verdict, as text."""
    counts = dict(sorted(cases_by_verdict(report.cases, lambda clause: clause.rpartition("-")[0]).items()))
    shown = [verdict for verdict in VERDICTS if any(verdict in family for family in counts.values())]
    rows = {name: [str(family.get(verdict, "")) for verdict in shown] for name, family in counts.items()}
    return list(map(str, shown)), rows


class FamilyVerdict(NamedTuple):
    """The result of the cases of one part of the format and one level."""

    family: str  # index, service, queue, log or checkpoint
    level: str  # MUST or OBSERVED
    passed: int  # cases that passed
    failed: int  # cases that failed, known failures aside
    known: int  # failures that the baseline excuses
    left_out: int  # cases that were skipped, unsupported or disputed
    not_applicable: int  # cases that the adapter lacks something for


def family_verdicts(report: Report) -> list[FamilyVerdict]:
    """By part of the format and level; parts that do not apply at all come last."""
    found: list[FamilyVerdict] = []
    for family in map(str, FAMILIES):
        for level in ("MUST", "OBSERVED"):
            lines = [line for line in report.cases if family_of(line.id) == family and line.level == level]
            failing = [line for line in lines if line.verdict in FAILING]
            known = sum(line.baselined for line in failing)
            passed = sum(line.verdict == "pass" for line in lines)
            aside = sum(line.verdict == "not_applicable" for line in lines)
            left_out = len(lines) - passed - len(failing) - aside
            if lines:
                found.append(
                    FamilyVerdict(family, level, passed, len(failing) - known, known, left_out, aside)
                )
    return sorted(found, key=lambda item: not (item.passed or item.failed or item.known or item.left_out))


def family_of(case: str) -> str:
    """The part of the format that a case is about, by its id."""
    return next((family for head, family in _FAMILY_OF.items() if case.startswith(f"{head}-")), "index")


# --- account ------------------------------------------------------------------------------------------

_ENDS: Final = {
    "crash": ("crashes", "crash"),
    "timeout": ("hangs", "hang"),
    "errored": ("ends in an error of the adapter", "end in an error of the adapter"),
    "unstable": ("fails beside others and passes alone", "fail beside others and pass alone"),
}
_MOST_HIDDEN: Final = 3
_MOST_OTHERS: Final = 4


Kind = Literal["stop", "cause", "clause", "follows"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to mend."""

    # what stops the adapter in an operation, a cause, a clause without one, or a clause that may follow from
    # the others
    kind: Kind
    clause: str  # the one that it is about
    title: str  # what it is, in one line
    notes: Sequence[str]  # what it costs and what goes with it, a sentence each
    example: CaseLine  # the case that shows it best
    cases: Sequence[CaseLine]  # those that fail so, without those of an earlier item
    names: frozenset[str]  # the ids of all of them

    @property
    def known(self) -> bool:
        """Whether the baseline excuses all of its cases."""
        return all(line.baselined for line in (self.example, *self.cases))

    @property
    def caught(self) -> str:
        """The first sentence on what a case of the clause catches, or else the summary of the clause."""
        known = clauses().get(self.clause)
        return self.notes[0].partition(" Cost: ")[0] if self.notes else known.summary if known else ""

    @property
    def first(self) -> str:
        """The first difference of its example and those of two other fields, or what happened."""
        fields = {difference_text(item): item for item in reversed(self.example.divergence)}
        first = [item for item in self.example.divergence if item in fields.values()][:_MOST_FIELDS]
        found = [text.partition(": ")[2] for text in describe_divergence(first)] or happened(self.example)[:1]
        place = found[0].partition(", ")[0]
        shown = "; ".join([found[0], *(text.removeprefix(f"{place}, ") for text in found[1:])])
        return f"{self.example.id.partition('/')[2]}: {shown}"


@dataclass(frozen=True, slots=True)
class Account:
    """The conclusion of a run."""

    # crashes and hangs by operation, then causes, clauses without a cause, those with a failing case of their
    # own first, and those that may follow
    items: Sequence[Item]
    verdict: Sequence[str]  # the last lines

    def items_of(self, case: str) -> list[Item]:
        """The items that a failing case belongs to."""
        return [item for item in self.items if case in item.names]


def account_of(report: Report, *, most_named: int = _ALL) -> Account:
    """The account of a report; of more failing clauses than `most_named` its verdict gives the number."""
    left = {line.id: line for line in report.cases if line.verdict in FAILING}
    explained = frozenset[str]().union(*map(_hangs_of, causes_of(report)))
    items = [*_stops(left, explained), *_causes(report, left)]
    clauses = [*_clause_items(report, left, items)]
    own = [item for item in clauses if item.kind == "clause"]
    if not items and not own:  # then they follow from nothing
        own, clauses = [replace(item, kind="clause") for item in clauses], []
    return Account(
        [*items, *own, *(item for item in clauses if item.kind == "follows")],
        conclusions(report, most_named=most_named),
    )


def _stops(left: dict[str, CaseLine], explained: Collection[str]) -> Iterator[Item]:
    """Cases that end without an answer, by verdict and operation, except those that a cause explains; they are taken out of `left`."""
    groups: dict[tuple[str, str], list[CaseLine]] = {}
    for line in [item for item in left.values() if item.verdict in _ENDS and item.id not in explained]:
        groups.setdefault((line.verdict, operation_of(line)), []).append(left.pop(line.id))
    order = list(_ENDS)
    for (verdict, operation), lines in sorted(
        groups.items(), key=lambda group: (order.index(group[0][0]), -len(group[1]))
    ):
        words = _ENDS[verdict][len(lines) > 1]
        where = f" in {operation}" if operation else ""
        title = f"{len(lines)} {'cases' if len(lines) > 1 else 'case'} {words}{where}{_known(lines)}"
        example = min(lines, key=lambda line: (line.examples > 1, line.id))
        notes = _caught(example) if verdict in {"crash", "timeout"} else ()  # the others are the adapter's
        yield Item("stop", example.clauses[0], title, notes, example, lines, _ids(lines))


def _causes(report: Report, left: dict[str, CaseLine]) -> Iterator[Item]:
    """The causes of the footer; the cases are taken out of `left`, those of several causes by the first."""
    for cause in causes_of(report):
        names = cases_of(cause)
        mine = [line for line in report.cases if line.id in names]
        example = next((line for line in mine if line.id == cause["example"]), None)
        if example is not None:
            lines = [left.pop(line.id) for line in mine if line.id in left]
            notes = [*_cost(mine, example, of=cause["clause"]), *_beside(cause)]
            if hanging := [line for line in mine if line.id in _hangs_of(cause)]:
                count = f"{len(hanging)} hanging cases follow" if len(hanging) > 1 else "hanging case follows"
                stuck = " and ".join(sorted(set(map(operation_of, hanging))))
                notes.append(
                    f"Its {count} from it: the reference with it never returns from {stuck} there, either."
                )
            yield Item(
                "cause", cause["clause"], cause_title(cause) + _known(mine), notes, example, lines, names
            )


def causes_of(report: Report) -> list[Mapping[str, Any]]:
    """The causes that the footer states; none of a report of an earlier version."""
    causes: list[Mapping[str, Any]] = (report.footer or {}).get("causes", [])
    return [cause for cause in causes if "sure" in cause]


def cases_of(cause: Mapping[str, Any]) -> frozenset[str]:
    """The ids of all cases and properties that a cause explains."""
    return _hangs_of(cause).union(cause["cases"], cause["properties"])


def _hangs_of(cause: Mapping[str, Any]) -> frozenset[str]:
    """The ids of the hanging cases that a cause explains, which a possible one does not."""
    return frozenset(cause.get("hangs", ()) if cause["sure"] else ())


def cause_title(cause: Mapping[str, Any]) -> str:
    """A cause in one line, with both of its numbers."""
    exactly, shows = len(cause["cases"] or cause["properties"]), cause["shows"]
    what = "cases" if cause["cases"] else "properties"
    share = f"all {shows} {what}" if exactly == shows else f"{exactly} of the {shows} {what}"
    share = "the one case" if shows == 1 else share
    how = "exactly as" if cause["sure"] else "possibly"
    return f"{how}: {' or '.join(map(value_text, cause['misreadings']))}: same answers and bytes in {share} in which it would show"


def _beside(cause: Mapping[str, Any]) -> Iterator[str]:
    if cause["together"]:
        yield f"Mend it together with {' and '.join(map(value_text, cause['together']))}: either alone would break cases that pass now."
    if others := cause.get("otherwise", ()):
        listed = ", ".join(others[:_MOST_OTHERS])
        more = f" and {len(others) - _MOST_OTHERS} more" if len(others) > _MOST_OTHERS else ""
        yield f"The implementation gives something else in {listed}{more}."
    if not cause["cases"]:
        yield "Only drawn lists show it; the first failing ones of each property were compared."
    elif count := len(cause["properties"]):
        fails, whose = ("property fails", "its") if count == 1 else ("properties fail", "their")
        yield f"{count} {fails} in the same way, judging by {whose} first failing lists."
    if 0 < len(cause["hidden"]) <= _MOST_HIDDEN:
        yield f"It hides {' or '.join(map(value_text, cause['hidden']))}, if the implementation has that, too."


def _clause_items(report: Report, left: Mapping[str, CaseLine], items: Sequence[Item]) -> Iterator[Item]:
    """The clauses with failing cases that no other item has.

    First come those that one of their own written cases shows, then those in which only drawn lists fail, each in the order
    in which one rests on another. A clause may follow if its drawn lists alone fail, at places where something before it does,
    or nearly as a possible cause has it.
    """
    footer: Mapping[str, Any] = report.footer or {}
    examples, elsewhere, places = (footer.get(name, {}) for name in ("examples", "elsewhere", "places"))
    unexamined: Collection[str] = footer.get("unexamined", ()) if items else ()
    near = {name for cause in causes_of(report) for name in cause.get("otherwise", ())}
    shown = {place for item in items for name in item.names for place in places.get(name, ())}
    written = {line.clauses[0] for line in left.values() if not line.is_drawn}
    clauses_left = in_order({line.clauses[0] for line in left.values()})
    for clause in sorted(clauses_left, key=lambda name: name not in written):
        own = [
            line for line in report.cases if line.clauses[0] == clause and line.verdict != "not_applicable"
        ]
        failing = [line for line in own if line.verdict in FAILING]
        lines = sorted(
            (line for line in failing if line.id in left),
            key=lambda line: (line.id != examples.get(clause), line.is_drawn, line.id),
        )
        is_must = any(line.level == "MUST" for line in failing)
        beyond = not is_must and _is_must(clause)  # OBSERVED clauses govern the input of all that fail, too
        title = (
            f"{clause} ({'MUST' if is_must or beyond else 'OBSERVED'}): {len(failing)} of {len(own)} cases fail"
            f"{', only with input that OBSERVED clauses govern, too' if beyond else ''}"
            f"{f', {len(lines)} of them without a cause above' if len(lines) < len(failing) else ''}{_known(failing)}"
        )
        if differing := elsewhere.get(clause, ()):
            title += f"; first differences: {', '.join(map(value_text, differing))}"
        alike = all(line.id in near or places.get(line.id, [""])[0] in shown for line in lines)
        large = all(line.id in unexamined for line in lines)
        follows = differing or large or (clause not in written and alike)
        if not follows:
            shown.update(place for line in lines for place in places.get(line.id, ()))
        kind: Kind = "follows" if follows else "clause"
        yield Item(kind, clause, title, _caught(lines[0]), lines[0], lines, _ids(lines))


def _is_must(clause: str) -> bool:
    return clause in clauses() and clauses()[clause].level == "MUST"


def _ids(lines: Sequence[CaseLine]) -> frozenset[str]:
    return frozenset(line.id for line in lines)


def _known(lines: Sequence[CaseLine]) -> str:
    return ", all known" if all(line.baselined for line in lines) else ""


def _caught(line: CaseLine) -> list[str]:
    """The bug that a case catches, and its cost; empty for a drawn list."""
    return [printable(line.description, limit=None)] if line.description else []


def _cost(lines: Sequence[CaseLine], example: CaseLine, *, of: str) -> list[str]:
    """The cost of a cause: that of the example or of another of its cases, of its own clause if there is one; else the rule that is broken."""
    by_clause = sorted((example, *lines), key=lambda line: line.clauses[0] != of)
    for text in [text for line in by_clause for text in _caught(line)][:1]:
        return [text[text.find("Cost: ") :] if "Cost: " in text else text]
    return [f"Cost: it breaks {of}: {clauses()[of].summary}"] if of in clauses() else []


# --- terminal -----------------------------------------------------------------------------------------

_MOST_OPS: Final = 12

_MOST_SHOWN: Final = 4
"""Number of items that are shown with an example; the others get a line each."""


def print_summary(report: Report, console: Console, *, folder: Path | None = None) -> None:
    """Prints the summary, with the inputs that the replay files of the report's folder hold."""
    account = account_of(report, most_named=_MOST_NAMED)
    items = [item for item in account.items if not item.known]
    _print_items(items, console, folder)
    disputed = [line for line in report.cases if line.verdict == "disputed"]
    for line in disputed:
        console.print(Text(f"\ndisputed {line.id}: {printable(line.detail)}"))
    stale: Sequence[str] = (report.footer or {}).get("stale", ())
    for text in stale:
        console.print(Text(f"stale baseline line: {text}"), soft_wrap=True)
    if items or disputed or stale:
        console.print()
    shown, rows = family_table(report)
    aside = [name for name, row in rows.items() if shown[-1] == "not_applicable" and not any(row[:-1])]
    console.print(_table(shown, {name: row for name, row in rows.items() if name not in aside}))
    console.print()
    if aside:
        heads = {_head(name) for name in rows if name not in aside}  # of which other clauses apply
        counts: Counter[str] = Counter()
        for name in aside:
            counts[name if _head(name) in heads else _head(name)] += int(rows[name][-1])
        listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
        console.print(Text(f"not applicable, by clauses and cases: {listed}", style="dim"), soft_wrap=True)
    triples: Mapping[str, Sequence[int]] = (report.footer or {}).get("triples", {})
    if triples:
        sent = ", ".join(f"{family} {seen:,} of {count:,}" for family, (seen, count) in triples.items())
        console.print(Text(f"triples of moves sent: {sent}", style="dim"))
    if aside or triples:
        console.print()
    style = {"good": "bold green", "bad": "bold red", "unclear": "bold yellow"}[tone_of(report)]
    for text in account.verdict:
        console.print(Text(text, style=style), soft_wrap=True)


def _head(family: str) -> str:
    return family.partition("-")[0]


def _table(shown: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("clauses")
    for verdict in shown:
        table.add_column(verdict.replace("_", " "), justify="right")
    for name, counts in rows.items():
        table.add_row(name, *counts)
    return table


def _print_items(items: Sequence[Item], console: Console, folder: Path | None) -> None:
    """Prints the failures, causes first; failures that may follow are one line."""
    for place, item in enumerate(items):
        if item.kind == "follows":
            break
        console.print(
            Text(f"\n{item.title}" if place < _MOST_SHOWN else item.title, style="bold"), soft_wrap=True
        )
        if place < _MOST_SHOWN:
            _print_item(item, console, folder)
        else:
            for text in filter(None, (item.caught if item.kind == "clause" else "", item.first)):
                console.print(Text(f"  {text}"), soft_wrap=True)
    if follow := [item for item in items if item.kind == "follows"]:
        listed = ", ".join(f"{item.clause} ({len(item.cases)})" for item in follow)
        console.print(Text(f"\nmay follow from the above, by clause and cases: {listed}"), soft_wrap=True)


def _print_item(item: Item, console: Console, folder: Path | None) -> None:
    """Prints an item's cost, and its example: the first differences and the input."""
    line = item.example
    for text in item.notes:
        console.print(Text(f"  {text}"), soft_wrap=True)
    console.print(Text(f"  for example, {line.verdict} {line.id}"))
    for text in filter(None, happened(line)):
        console.print(Text(f"    {text}"), soft_wrap=True)
    for text in describe_divergence(line.divergence[:2]):
        console.print(Text(f"    {text}"), soft_wrap=True)
    if folder is None or line.replay is None:
        return
    path = folder / line.replay
    if line.divergence and path.is_file():
        for text in describe_operations(json.loads(path.read_bytes()), most=_MOST_OPS):
            console.print(Text(f"    {text}", style="dim"), soft_wrap=True)
    console.print(Text(printable(f"  replay: {path}"), style="dim"), soft_wrap=True)
