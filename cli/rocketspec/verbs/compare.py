"""The verb `compare`: reports of several implementations side by side."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rocketspec._options import AsJson, write_json
from rocketspec._tables import columns
from rocketspec._terminal import say_all


def compare(
    reports: Annotated[list[Path], typer.Argument(metavar="REPORT...", help="Reports of conform.")],
    as_json: AsJson = False,
) -> None:
    """Show reports of several implementations side by side.

    REPORT is a report.jsonl file, or a directory of conform --report. The clauses of which at least one implementation fails
    a case are printed, each with an x for the implementations that do.

    Examples:
      rocketspec compare rust-out go-out
    """
    from rocket_conformance.report import compare_implementations, read_whole_report

    comparison = compare_implementations([read_whole_report(path) for path in reports])
    if as_json:
        write_json(comparison, indent=1)
        return
    say_all(_lines(comparison))


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    """A numbered list of the implementations, then a table of the broken clauses."""
    from rocket_spec.printable import printable

    names = value["implementations"]
    for number, name in enumerate(names, 1):
        yield f"{number}: {printable(name, limit=100)}"
    table = [["clause", "level", *map(str, range(1, len(names) + 1))]]
    for row in value["clauses"]:
        signs = ["x" if cell["state"] == "differs" else "" for cell in row["implementations"]]
        if "x" in signs:
            table.append([row["clause"], row["level"], *signs])
    yield from columns(table)
