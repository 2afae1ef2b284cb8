"""The verb `conform-diff`: compares reports of `conform`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rocketspec._options import write_json
from rocketspec._tables import columns
from rocketspec._terminal import say_all

if TYPE_CHECKING:
    from rocket_conformance.report import Change, ReportDiff


def conform_diff(
    old: Path,
    new: list[Path],
    as_json: bool = False,
) -> None:
    """Compare reports of conform by clause: what broke, what was fixed, and through which causes.

    OLD and NEW are report.jsonl files, or directories of conform --report. A case is *broken* if it passed in OLD and does
    not pass in NEW, *removed* if it is missing from NEW, and *added* if it is only in NEW, whether it passes or fails.
    A table follows if the reports are of several implementations or versions: the clauses that any of them breaks, each with
    an x for those that do.

    Examples:
      rocketspec conform-diff main/report.jsonl report.jsonl
      rocketspec conform-diff main out
      rocketspec conform-diff rust-out go-out c-out

    Exit codes:
      0 nothing broke         2 usage
      1 something broke       3 unreadable or incomplete report
    """
    from rocket_conformance.report import compare_implementations, compare_reports, read_whole_report

    first, *others = (read_whole_report(path) for path in (old, *new))
    diffs = [compare_reports(first, other) for other in others]
    known = {json.dumps(report.header["implementation"], sort_keys=True) for report in (first, *others)}
    table = compare_implementations([first, *others]) if len(known) > 1 else {}
    if as_json:
        write_json(
            (diffs[0].to_json() if len(diffs) == 1 else {"diffs": [diff.to_json() for diff in diffs]})
            | table,
            indent=1,
        )
    else:
        for path, diff in zip(new, diffs, strict=True):
            say_all([f"{path}:"] if len(new) > 1 else [])
            say_all(_lines(diff))
        say_all(_side_by_side(table) if table else [])
    raise typer.Exit(int(any(diff.broken for diff in diffs)))


def _side_by_side(table: Mapping[str, Any]) -> Iterator[str]:
    """A numbered list of the implementations, then the clauses that any of them breaks."""
    from rocket_spec.printable import printable

    names = table["implementations"]
    yield ""
    for number, name in enumerate(names, 1):
        yield f"{number}: {printable(name, limit=100)}"
    rows = [["clause", "level", *map(str, range(1, len(names) + 1))]]
    for row in table["clauses"]:
        signs = ["x" if cell["state"] == "differs" else "" for cell in row["implementations"]]
        if "x" in signs:
            rows.append([row["clause"], row["level"], *signs])
    yield from columns(rows)


def _lines(diff: ReportDiff) -> Iterator[str]:
    """The lines of the verb: by clause the cases that broke, were fixed or changed, or were added and fail; then the causes."""
    for note in diff.notes:
        yield f"note: the runs differ in {note}"
    failing = [change for change in diff.added if change.fails]
    for name, changes in (
        ("broken", diff.broken),
        ("fixed", diff.fixed),
        ("changed", diff.changed),
        ("added", failing),
    ):
        groups: dict[str, list[Change]] = {}
        for change in changes:
            groups.setdefault(change.line.clauses[0], []).append(change)
        for clause, group in groups.items():
            yield from _told(name, clause, group)
    yield from diff.causes
    added = f"{len(diff.added)} added" + (f" ({len(failing)} of them fail)" if failing else "")
    yield f"{len(diff.broken)} broken, {len(diff.fixed)} fixed, {len(diff.changed)} changed, {added}, {len(diff.removed)} removed"


def _told(name: str, clause: str, group: Sequence[Change]) -> Iterator[str]:
    """The changes of one clause: how many, the first of them, and what it shows."""
    first = next((change for change in group if not change.line.is_property), group[0])
    count = f"{len(group)} cases of {clause}, such as {first.id}" if len(group) > 1 else first.id
    yield f"{name:<8} {count}: {first.old or 'absent'} -> {first.new or 'absent'}"
    if first.new != "pass" and first.why:
        yield f"         {first.why.splitlines()[0]}"
