"""The verb `inspect`: one file's header, fill and oddities, or one of its bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.store_folders import refuse_store

from rocketspec import _options as option
from rocketspec._options import StoreOptions, note_release, read_settings
from rocketspec._terminal import progress, skipped

if TYPE_CHECKING:
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry


_PLOTS: Final = (".svg", ".png", ".pdf")


def inspect(
    path: Path | None = None,
    *,
    at: str | None = None,
    kind: str | None = None,
    commitlog: list[str] | None = None,
    geometry: str | None = None,
    broker_conf: Path | None = None,
    space: bool = False,
    group: str | None = None,
    topic: str | None = None,
    time_zone: str | None = None,
    as_json: bool = False,
    plot: Path | None = None,
) -> None:
    """Show what a store, a directory or a file contains.

    A store: kind, last stop, sizes, time span, geometry, topics with their offsets, how much of the log is indexed, and
    the first problems. An index file: header, geometry, occupancy, chain lengths, time span, oddities. Queue, ext,
    commit-log and checkpoint files get a short summary.

    An index file does not record its geometry. It is inferred from size and content; the output states the
    confidence.

    Examples:
      rocketspec inspect ~/store
      rocketspec inspect ~/store --space
      rocketspec inspect ~/store --group billing
      rocketspec inspect ~/store/consumequeue/Orders
      rocketspec inspect index/20260131120000000 --at 0x28
    """
    from rocket_columnar.store import find_files

    option.use_zone(time_zone)
    offset = None if at is None else _parse_offset(at)
    settings = read_settings(path, commitlog, geometry, broker_conf)
    path, given = settings.store, settings.shape
    of_groups = {"--group": group, "--topic": topic}
    note_release(path, settings.commitlog)
    if path.is_dir():
        of_file = {"--at": at, "--kind": kind, "--plot": plot}
        option.refuse(of_file, "requires a file", before=f"{path}: is a directory; ")
        option.refuse(of_groups if space else {}, "cannot be combined with --space")
        if group is not None or topic is not None:
            _consumers(settings, group, topic, as_json=as_json)
        else:
            (_space if space else _overview)(settings, as_json=as_json)
        return
    path.stat()  # a missing one is an error of its own
    of_store = of_groups | {"--space": space, "--commitlog": commitlog}
    option.refuse(of_store, "requires a store", before=f"{path}: is a file; ")
    option.refuse({"--plot": plot} if at is not None else {}, "cannot be combined with --at")
    (found,) = find_files(path, kind)
    guess = _geometry(found, given) if found.kind == "index" else None
    if plot is not None:
        _check_plot(found, plot)
    if offset is not None:
        _explain_byte(found, offset, guess, as_json=as_json)
    else:
        _summarise(found, guess, as_json=as_json, plot=plot)


def _overview(settings: StoreOptions, *, as_json: bool) -> None:
    from rocket_columnar.consumers import progress as how_far
    from rocket_columnar.describe import look_at
    from rocket_columnar.facts import Store
    from rocket_columnar.report import audit
    from rocket_columnar.store import Unreadable

    from rocketspec.verbs.inspect.store_view import show_overview

    with progress("reading", unit="files") as step:
        try:
            store: Store | Path = settings.open()
        except UsageError:  # a directory of a store
            store = settings.store
        seen = look_at(store, on_progress=step, **settings.known)
        if not isinstance(store, Store) or seen.clean is None:
            report = consumers = None
        else:
            report = audit(store, "quick")
            unread = any(isinstance(reason, Unreadable) for _, reason in seen.problems)
            consumers = None if unread else how_far(store)
    if as_json:
        parts = {
            "consumers": None if consumers is None else consumers.row(),
            "findings": None if report is None else [finding.row() for finding in report],
        }
        option.write_json(seen.row() | {name: value for name, value in parts.items() if value is not None})
    else:
        show_overview(seen, report, consumers, options=settings.options)


def _consumers(settings: StoreOptions, group: str | None, topic: str | None, *, as_json: bool) -> None:
    from rocket_columnar.consumers import progress as how_far

    from rocketspec.verbs.inspect.store_view import chosen, show_consumers

    row = chosen(how_far(settings.open(), sizes=True), group, topic)
    if as_json:
        option.write_json(row)
        return
    if not row["groups"] and (group, topic) != ("*", None):  # which is also asked for what else waits
        what = " and ".join(f"{name} {glob}" for name, glob in (("group", group), ("topic", topic)) if glob)
        raise UsageError(f"{settings.store}: no consumer offset of {what}")
    show_consumers(row)


def _space(settings: StoreOptions, *, as_json: bool) -> None:
    from rocket_columnar.describe import space

    from rocketspec.verbs.inspect.store_view import show_space, space_as_json

    with progress("reading", unit="bytes") as step:
        found = space(settings.open(), on_progress=step)
    for name, reason in found.skipped:
        skipped(name, reason)
    if as_json:
        option.write_json(space_as_json(found, settings.conf))
    else:
        show_space(found, settings.conf)


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
        if given is not None or Path(os.path.abspath(file.path)).parent.name != "index":
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
    source = Path(os.path.realpath(file.path))
    refuse_store(plot, source, *([source.parent.parent] if source.parent.name == "index" else []))


def _explain_byte(file: StoreFile, offset: int, guess: GeometryGuess | None, *, as_json: bool) -> None:
    from rocket_columnar.describe import byte_at

    from rocketspec.verbs.inspect import view

    with progress("searching", unit="bytes") as step:
        meaning = byte_at(file, offset, None if guess is None else guess.geometry, on_progress=step)
    row, lines = view.byte_as_json(file, meaning, guess), view.byte_lines(file, meaning, guess)
    option.print_rows([row], lines, as_json=as_json)


def _summarise(file: StoreFile, guess: GeometryGuess | None, *, as_json: bool, plot: Path | None) -> None:
    from rocketspec.verbs.inspect import view

    if guess is None:
        from rocket_columnar.describe import summarise

        with progress("reading", unit="bytes") as step:
            facts = summarise(file, on_progress=step)
        row = {"file": file.name, "kind": file.kind} | facts
        option.print_rows([row], view.fact_lines(file, facts), as_json=as_json)
        return
    from rocket_columnar.describe import occupancy

    with progress("reading", unit="bytes") as step:
        filled = occupancy(file.path, guess.geometry, on_progress=step)
        if plot is not None:
            from rocketspec.verbs.inspect.plot import draw

            draw(file, guess.geometry, filled, plot)
    lines = [*view.index_lines(file, guess, filled), *([] if plot is None else [f"plot: {plot}"])]
    option.print_rows([view.index_as_json(file, guess, filled)], lines, as_json=as_json)
