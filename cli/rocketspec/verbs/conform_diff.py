"""The verb `conform-diff`: compares two reports of `conform`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rocketspec._options import AsJson, write_json
from rocketspec._terminal import say_all

if TYPE_CHECKING:
    from rocket_conformance.report import Change, ReportDiff


def conform_diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The earlier report.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The later report.")],
    as_json: AsJson = False,
) -> None:
    """Compare two reports of conform by clause: what broke, what was fixed, and through which causes.

    OLD and NEW are report.jsonl files, or directories of conform --report. A case is *broken* if it passed in OLD and does
    not pass in NEW, *removed* if it is missing from NEW, and *added* if it is only in NEW, whether it passes or fails.

    Examples:
      rocketspec conform-diff main/report.jsonl report.jsonl
      rocketspec conform-diff main out

    Exit codes:
      0 nothing broke         2 usage
      1 something broke       3 unreadable or incomplete report
    """
    from rocket_conformance.report import compare_reports, read_whole_report

    diff = compare_reports(read_whole_report(old), read_whole_report(new))
    if as_json:
        write_json(diff.to_json(), indent=1)
    else:
        say_all(_lines(diff))
    raise typer.Exit(int(bool(diff.broken)))


def _lines(diff: ReportDiff) -> Iterator[str]:
    """What the verb prints: by clause what broke, was fixed or changed, of what was added only what fails; then the causes."""
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
    first = next((change for change in group if "/prop-" not in change.id), group[0])
    count = f"{len(group)} cases of {clause}, such as {first.id}" if len(group) > 1 else first.id
    yield f"{name:<8} {count}: {first.old or 'absent'} -> {first.new or 'absent'}"
    if first.new != "pass" and first.why:
        yield f"         {first.why.splitlines()[0]}"
