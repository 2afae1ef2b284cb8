"""The verb `conform-diff`: compares two reports of `conform`."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Compare two reports of conform: what broke, what was fixed.

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
    """What the verb prints: all that broke, was fixed or changed; of what was added only what fails."""
    for note in diff.notes:
        yield f"note: the runs differ in {note}"
    failing = [change for change in diff.added if change.fails]
    for name, changes in (
        ("broken", diff.broken),
        ("fixed", diff.fixed),
        ("changed", diff.changed),
        ("added", failing),
    ):
        for change in changes:
            yield from _told(name, change)
    added = f"{len(diff.added)} added" + (f" ({len(failing)} of them fail)" if failing else "")
    yield f"{len(diff.broken)} broken, {len(diff.fixed)} fixed, {len(diff.changed)} changed, {added}, {len(diff.removed)} removed"


def _told(name: str, change: Change) -> Iterator[str]:
    yield f"{name:<8} {change.id}: {change.old or 'absent'} -> {change.new or 'absent'}"
    if change.new != "pass" and change.why:
        yield f"         {change.why.splitlines()[0]}"
