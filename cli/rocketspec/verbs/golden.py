"""The verb `golden`: the stores that the real RocketMQ wrote, listed, verified and unpacked."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocket_golden import StoreEntry

__all__ = ["register"]

_Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def register(app: typer.Typer) -> None:
    """Adds `golden list`, `golden verify` and `golden unpack` to the command."""
    group = typer.Typer(help="The golden stores, written by the real RocketMQ.", no_args_is_help=True)
    group.command("list")(list_stores)
    group.command("verify")(verify_stores)
    group.command("unpack")(unpack_store)
    app.add_typer(group, name="golden")


def list_stores(json: _Json = False) -> None:
    """List the golden stores: geometry, files, sizes and what is in them.

    Example: `rocketspec golden list --json`
    """
    from rocket_golden import manifest

    with _errors_in_one_line():
        found = manifest().stores.values()
    for store in found:
        if json:
            _echo_json(_as_json(store))
        else:
            _print(store)


def verify_stores(json: _Json = False) -> None:
    """Compare every golden file with the manifest; exit 1 when something differs.

    Example: `rocketspec golden verify`
    """
    from rocket_golden import stores, verify

    with _errors_in_one_line():
        names, problems = stores(), verify()
    if json:
        _echo_json({"stores": names, "problems": problems})
    else:
        for problem in problems:
            typer.echo(problem)
        typer.echo(
            f"{len(stores())} golden stores, {f'{len(problems)} problems' if problems else 'all as recorded'}"
        )
    if problems:
        raise typer.Exit(1)


def unpack_store(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that `golden list` shows.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put the store DIR/NAME.")],
    json: _Json = False,
) -> None:
    """Unpack a golden store to look at it or to try a tool on it; prints its path.

    Example: `rocketspec golden unpack mixed /tmp/golden`
    """
    from rocket_golden import open_store

    with _errors_in_one_line():
        path = open_store(name, directory)
    if json:
        _echo_json({"name": name, "path": str(path)})
    else:
        typer.echo(path)


def _echo_json(value: dict[str, Any]) -> None:
    from json import dumps

    typer.echo(dumps(value, ensure_ascii=False))


def _as_json(store: StoreEntry) -> dict[str, Any]:
    return {
        "name": store.name,
        "description": store.description,
        "producer": store.producer,
        "geometry": list(store.geometry),
        "files": _kinds(store),
        "unpacked_size": store.unpacked_size,
        "packed_size": store.archive.size + store.truth.size,
        "truth_lines": dict(store.truth_lines),
    }


def _kinds(store: StoreEntry) -> dict[str, int]:
    """Number of the store's files by kind."""
    from collections import Counter

    return dict(sorted(Counter(file.kind for file in store.files).items()))


def _print(store: StoreEntry) -> None:
    from textwrap import indent, wrap

    files = ", ".join(f"{count} {kind}" for kind, count in _kinds(store).items() if kind != "other")
    slots, entries = store.geometry
    typer.secho(store.name, bold=True, nl=False)
    typer.echo(
        f"  {store.producer}, {slots:,} slots / {entries:,} entries, {store.unpacked_size:,} bytes: {files}"
    )
    typer.echo(indent("\n".join(wrap(store.description, 96)), "  "))


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Turns what can be wrong with golden data into the errors that the command maps to exit codes."""
    from rocket_golden import DamagedError, UnknownStoreError
    from rocket_spec.errors import InvalidError, UsageError

    try:
        yield
    except UnknownStoreError as error:
        raise UsageError(str(error)) from None
    except DamagedError as error:
        raise InvalidError(file=error.file, found=error.found, expected=error.expected) from None
