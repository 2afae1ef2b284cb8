"""The verbs `case list` and `case show`: which cases there are, what one sends, and what is expected of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import typer

from rocketspec._options import print_rows, write_json
from rocketspec._terminal import say_all

if TYPE_CHECKING:
    from rocket_conformance.planning import Planned


GROUP: Final = typer.Typer(help="Inspect the cases of the suite.", no_args_is_help=True)


@GROUP.command("list")
def list_cases(
    globs: list[str] | None = None,
    json: bool = False,
) -> None:
    """List the cases of the suite, each with its level.

    Example: `rocketspec case list 'IDX-PUT-*'`
    """
    from rocket_conformance.planning import plan

    planned = plan(select=globs or ())
    rows = ({"id": item.id, "level": item.level, "clauses": item.clauses} for item in planned)
    print_rows(rows, (f"{item.id} ({item.level})" for item in planned), as_json=json)


@GROUP.command("show")
def show(
    case_id: str,
    example: int = 0,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Show one case: its clause, the operations it sends, and the results and files expected of it.

    With --json it is a case file, which `rocketspec replay` runs.

    Example: `rocketspec case show IDX-PUT-5/slot-equals-count`
    """
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from rocket_conformance.cases import case_to_json
    from rocket_conformance.comparison import specified
    from rocket_conformance.planning import planned_by_id
    from rocket_conformance.protocol import OPERATIONS, parse_hello

    planned = planned_by_id(case_id)
    everything = {"protocol": 1, "name": "all", "ops": list(OPERATIONS), "features": ["lone_surrogates"]}
    *_, case = planned.instances(seed=seed, count=example + 1, hello=parse_hello(everything))
    with TemporaryDirectory(prefix="rocketspec-case-") as folder:
        case, expected = specified(case, Path(folder, "case"))
    document = case_to_json(case, expected)
    if json:
        write_json(document, indent=1)
        return
    say_all(_lines(planned, document))


def _lines(planned: Planned, document: dict[str, Any]) -> Iterator[str]:
    from json import dumps

    from rocket_conformance.report import describe_operations
    from rocket_spec.clauses import clauses
    from rocket_spec.printable import printable

    yield f"{planned.id} ({planned.level}; expected by {document['producer'] or 'reference'})"
    for name in planned.clauses:
        clause = clauses()[name]
        yield f"{name}: {clause.summary} ({clause.source})"
    yield ""
    results = document["expected"]["results"]
    described = describe_operations(document, most=len(results))
    files = len(described) - len(results)
    for place, text in enumerate(described):
        yield printable(text)
        if place >= files:
            yield printable(f"    -> {dumps(results[place - files])}")
    for path, entry in document["expected"]["files"].items():
        yield printable(f"    file {path} afterwards: SHA-256 {entry['sha256']}")
