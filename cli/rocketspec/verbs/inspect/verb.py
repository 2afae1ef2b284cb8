"""The verb `inspect`: one file's header, fill and oddities, or one of its bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rocket_spec.errors import MalformedError, UsageError

from rocketspec._options import AsJson, GeometryText, KindText, read_geometry, write_json

if TYPE_CHECKING:
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

__all__ = ["register"]

_PLOTS: Final = (".svg", ".png", ".pdf")


def register(app: typer.Typer) -> None:
    """Adds `inspect` to the command."""
    app.command("inspect")(inspect)


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One file of a store.")],
    *,
    at: Annotated[
        str | None,
        typer.Option(metavar="OFFSET", help="Explain the byte at this offset: 40 or 0x28."),
    ] = None,
    kind: KindText = None,
    geometry: GeometryText = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.svg",
            help="Plot chain lengths, slots and times of an index file: .svg, .png or .pdf.",
        ),
    ] = None,
) -> None:
    """Show the content of a file: header, geometry, occupancy, chain lengths, time span, oddities.

    An index file does not record its geometry. It is inferred from size and content; the output states the
    confidence. Queue, ext, commit-log and checkpoint files get a short summary.

    Example: `rocketspec inspect ~/store/index/20260131120000000 --at 0x28`
    """
    from rocket_columnar.store import find_files

    if file.is_dir():
        raise UsageError(f"{file}: a directory; inspect takes one file of it")
    offset = None if at is None else _parse_offset(at)
    (found,) = find_files(file, kind)
    given = read_geometry(geometry)
    guess = _geometry(found, given) if found.kind == "index" else None
    if plot is not None:
        _check_plot(found, plot)
    if offset is not None:
        _explain_byte(found, offset, guess, as_json=as_json)
    else:
        _summarise(found, guess, as_json=as_json, plot=plot)


def _parse_offset(text: str) -> int:
    try:
        return int(text, 0) if text.lower().startswith("0x") else int(text.replace(",", ""))
    except ValueError:
        raise UsageError(f"--at {text}: expected a byte offset such as 40 or 0x28") from None


def _geometry(file: StoreFile, given: Geometry | None) -> GeometryGuess:
    """The geometry of the file by itself, else with the help of the index files beside it."""
    from rocket_columnar.index import resolve, resolve_each
    from rocket_columnar.store import find_files

    try:
        return resolve([file], given)
    except UsageError:
        if given is not None or Path(os.path.abspath(file.path)).parent.name != "index":  # noqa: PTH100
            raise
        siblings = find_files(file.path.parent, "index")
        try:
            guesses = resolve_each(siblings)
        except (UsageError, MalformedError):
            guesses = {}
        for sibling, guess in guesses.items():
            if sibling.path.name == file.path.name:
                return guess
        raise


def _check_plot(file: StoreFile, plot: Path) -> None:
    if file.kind != "index":
        raise UsageError(f"{file.path}: not an index file; --plot only draws index files")
    if plot.suffix.lower() not in _PLOTS:
        raise UsageError(f"--plot {plot}: the name must end in {', '.join(_PLOTS)}")
    target, source = plot.resolve(), file.path.resolve()
    in_store = source.parent.name == "index" and target.is_relative_to(source.parent.parent)
    if target == source or in_store:
        raise UsageError(f"--plot {plot}: is inside the store, which is never written to")


def _explain_byte(file: StoreFile, offset: int, guess: GeometryGuess | None, *, as_json: bool) -> None:
    from rocket_columnar.describe import byte_at

    from rocketspec._terminal import progress
    from rocketspec.verbs.inspect import view

    with progress("searching"):
        meaning = byte_at(file, offset, None if guess is None else guess.geometry)
    if as_json:
        write_json(view.byte_as_json(file, meaning, guess))
    else:
        view.show_byte(file, meaning, guess)


def _summarise(file: StoreFile, guess: GeometryGuess | None, *, as_json: bool, plot: Path | None) -> None:
    from rocketspec._terminal import progress
    from rocketspec.verbs.inspect import view

    if guess is None:
        from rocket_columnar.describe import summarise

        with progress("reading"):
            facts = summarise(file)
        if as_json:
            write_json({"file": file.name, "kind": file.kind} | facts)
        else:
            view.show_facts(file, facts)
        return
    from rocket_columnar.describe import occupancy

    with progress("reading"):
        filled = occupancy(file.path, guess.geometry)
        if plot is not None:
            from rocketspec.verbs.inspect.plot import draw

            draw(file, guess.geometry, filled, plot)
    if as_json:
        write_json(view.index_as_json(file, guess, filled))
    else:
        view.show_index(file, guess, filled)
        if plot is not None:
            typer.echo(f"plot: {plot}")
