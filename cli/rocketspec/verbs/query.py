"""The verb `query`: messages by key, as a broker would answer, and by their place in a queue."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rocket_spec.errors import UsageError

from rocketspec import _options as option
from rocketspec._options import read_settings, warn
from rocketspec._terminal import note, progress, say_all, skipped

if TYPE_CHECKING:
    from rocket_columnar.facts import Store
    from rocket_columnar.query import QueryAnswer


def query(
    store: Path | None = None,
    *,
    topic: str | None = None,
    key: str | None = None,
    unique_key: str | None = None,
    offset_id: str | None = None,
    queue: int | None = None,
    offset: int | None = None,
    at: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    max_num: int | None = None,
    exact: bool = False,
    every: bool = False,
    scan: bool = False,
    explain: bool = False,
    group: str | None = None,
    body: bool = False,
    time_zone: str | None = None,
    as_json: bool = False,
    commitlog: list[str] | None = None,
    geometry: str | None = None,
    broker_conf: Path | None = None,
    gentle: bool = False,
    rate: float | None = None,
) -> None:
    """Find messages by key or ID through the index files, as a broker would.

    Times are store times, which the index keeps in whole seconds. The store of a crashed or running broker is read
    as it is.

    Example: `rocketspec query ~/store --topic T --key K --explain`
    Example: `rocketspec query ~/store --topic T --key K --body`
    Example: `rocketspec query store --topic T --queue 0 --offset 9`
    """
    alone = {"--explain": explain, "--json": as_json, "--group": group}
    option.refuse(
        alone if body else {}, "cannot be combined with --body, which prints bodies and nothing else"
    )
    place = option.use_zone(time_zone)
    option.be_gentle(gentle=gentle, rate=rate)
    if (queue, at, offset) != (None, None, None):
        searches = {
            "--key": key, "--unique-key": unique_key, "--offset-id": offset_id, "--begin": begin, "--end": end, "--max": max_num,
            "--exact": exact, "--all": every, "--scan": scan, "--explain": explain, "--group": group, "--geometry": geometry,
        }  # fmt: skip
        option.refuse(
            searches, "cannot be combined with --queue, --at and --offset: no message is searched for"
        )
        option.refuse({"--body": body} if offset is None else {}, "requires --offset, or a search")
        facts = read_settings(store, commitlog, None, broker_conf).open()
        time = None if at is None else option.read_time(at, "--at", place)
        _in_queue(facts, (topic, queue), (time, offset), body=body, as_json=as_json)
        return
    first, last = (
        None if text is None else option.read_time(text, name, place)
        for text, name in ((begin, "--begin"), (end, "--end"))
    )

    from rocket_columnar.query import OpenStore

    from rocketspec._search import (
        SearchArguments,
        answer,
        explained,
        nothing_found,
        show,
        show_bodies,
        to_json,
    )

    asked = SearchArguments(topic, key, unique_key, offset_id, first, last, max_num, exact, every, scan)
    asked.check(explain=explain)
    settings = read_settings(store, commitlog, geometry, broker_conf)
    facts = settings.open()
    warn(settings, facts)
    with OpenStore(facts) as opened:
        for name, reason in opened.skipped:
            skipped(name, reason)
        for name, problem in opened.indexes.damaged:
            note(f"{name}: {problem}; the part before it is searched")
        with progress("searching", unit="bytes") as step:
            opened.log.on_progress = step
            found, walk = explained(opened, asked) if explain else (answer(opened, asked), None)
    if body:
        show_bodies(found.messages)
    elif as_json:
        delivered = {} if group is None else {"delivery": _delivery(facts, found, group)}
        option.write_json(to_json(found, walk, asked) | delivered)
    else:
        show(found, walk, asked)
        say_all(_delivery(facts, found, group))
    if not found.messages:
        if walk is None:
            topics, has_index = sorted(facts.has_queue), bool(facts.of("index"))
            note(nothing_found(found, asked, topics=topics, has_index=has_index))
        raise typer.Exit(option.FINDINGS)


def _delivery(store: Store, found: QueryAnswer, group: str | None) -> list[str]:
    """Lines on whether a group's consumers get the messages."""
    from rocket_columnar.consumers import delivery

    rows = [row for row in found.messages if group is not None and row["topic"] is not None]
    return [line for row in rows for line in delivery(store, row, group or "")]


def _in_queue(
    store: Store,
    queue: tuple[str | None, int | None],
    place: tuple[int | None, int | None],
    *,
    body: bool,
    as_json: bool,
) -> None:
    """Prints what is at a time, or at a logical offset, of a queue; without them its bounds."""
    (topic, number), (time, offset) = queue, place
    if topic is None or number is None:
        raise UsageError("expected --topic and --queue together: they name a queue, for --at and --offset")
    if time is not None and offset is not None:
        raise UsageError("--at and --offset are mutually exclusive")
    if offset is not None:
        _unit_at(store, (topic, number, offset), body=body, as_json=as_json)
    elif time is not None:
        _offset_at(store, (topic, number, time), as_json=as_json)
    else:
        _bounds(store, topic, number, as_json=as_json)


def _bounds(store: Store, topic: str, queue_id: int, *, as_json: bool) -> None:
    """Prints the logical offsets of a queue."""
    from rocket_columnar.consumers import queue_bounds
    from rocket_columnar.restart import max_after_start

    from rocketspec._search import bounds_line

    found = queue_bounds(store, topic, queue_id)
    broker_max = max_after_start(store, topic, queue_id)
    option.print_rows(
        [asdict(found) | {"broker_max": broker_max}], [bounds_line(found, broker_max)], as_json=as_json
    )


def _unit_at(store: Store, wanted: tuple[str, int, int], *, body: bool, as_json: bool) -> None:
    """Prints the unit at a logical offset of a queue, and its record."""
    from rocket_columnar.consumers import unit_at

    from rocketspec._search import plain, show_bodies, show_unit

    found = unit_at(store, *wanted)
    row = found.row
    if as_json:
        option.write_json(asdict(found) | {"row": None if row is None else plain(row)})
    elif body:
        show_bodies([] if row is None else [row])
    else:
        show_unit(found)
    if row is None:
        raise typer.Exit(option.FINDINGS)


def _offset_at(store: Store, wanted: tuple[str, int, int], *, as_json: bool) -> None:
    """Prints the answer of a broker to a queue and a time."""
    from rocket_columnar.consumers import offset_at
    from rocket_columnar.formats import iso

    found = offset_at(store, *wanted)
    stored = "" if found.store_timestamp is None else f", stored {iso(found.store_timestamp)}"
    lines = [
        f"{found.topic} queue {found.queue_id} at {iso(found.time)}: offset {found.offset:,}{stored}",
        f"  {found.why} (searched {found.file})",
    ]
    option.print_rows([asdict(found)], lines, as_json=as_json)
