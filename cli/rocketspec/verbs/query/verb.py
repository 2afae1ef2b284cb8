"""The verb `query`: messages by key, as a broker would answer, and by their place in a queue."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rocket_spec.errors import UsageError

from rocketspec import _options as option
from rocketspec._options import read_settings, warn
from rocketspec._terminal import note, progress, say, say_all, skipped

if TYPE_CHECKING:
    from rocket_columnar.facts import Store
    from rocket_columnar.query import QueryAnswer


def query(
    store: option.StorePath = None,
    *,
    topic: option.TopicName = None,
    key: Annotated[
        str | None, typer.Option(metavar="K", help="A key of the message, or its unique key.")
    ] = None,
    unique_key: option.UniqueKey = None,
    offset_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Message ID made by the broker (offsetMsgId).")
    ] = None,
    queue: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Number of the queue of --topic. Alone: print its offsets."),
    ] = None,
    offset: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Print the unit at this logical offset of --queue, and its message."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Print the logical offset that a broker gives for this time in --queue, and why.",
        ),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Earliest store time: ms since 1970, or ISO 8601 with a time zone, else in that of --tz. \\[default: 0]",
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="Latest store time, inclusive. \\[default: now]")
    ] = None,
    max_num: Annotated[
        int | None,
        typer.Option(
            "--max",
            metavar="N",
            help="Return at most N messages; a broker never returns more than 64. \\[default: 32]",
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Drop messages that only share the hash of the key, and duplicates."),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Return every message with the key: no limit and no time window, unlike a broker."
        ),
    ] = False,
    scan: Annotated[
        bool, typer.Option("--scan", help="Like --all, but read the whole commit log instead of the index.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show the path through slot, chain and log, and why nothing was found."
        ),
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="NAME",
            help="Also print whether this group's consumers get the messages: their units, and the group's offsets.",
        ),
    ] = None,
    body: Annotated[
        bool,
        typer.Option(
            "--body",
            help="Print the whole bodies, decompressed, and nothing else; several are each headed by a line with the offset.",
        ),
    ] = False,
    time_zone: option.TimeZone = None,
    as_json: option.AsJson = False,
    commitlog: option.CommitLogPaths = None,
    geometry: option.GeometryText = None,
    broker_conf: option.BrokerConfFile = None,
    gentle: option.GentleReading = False,
    rate: option.RateLimit = None,
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

    from rocketspec._search import SearchArguments, answer, explained
    from rocketspec.verbs.query.view import as_json as to_json
    from rocketspec.verbs.query.view import nothing_found, show, show_bodies

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

    from rocketspec.verbs.query.view import bounds_line

    found = queue_bounds(store, topic, queue_id)
    broker_max = max_after_start(store, topic, queue_id)
    if as_json:
        option.write_json(asdict(found) | {"broker_max": broker_max})
    else:
        say(bounds_line(found, broker_max))


def _unit_at(store: Store, wanted: tuple[str, int, int], *, body: bool, as_json: bool) -> None:
    """Prints the unit at a logical offset of a queue, and its record."""
    from rocket_columnar.consumers import unit_at

    from rocketspec._search import plain
    from rocketspec.verbs.query.view import show_bodies, show_unit

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
    if as_json:
        option.write_json(asdict(found))
        return
    stored = "" if found.store_timestamp is None else f", stored {iso(found.store_timestamp)}"
    say(f"{found.topic} queue {found.queue_id} at {iso(found.time)}: offset {found.offset:,}{stored}")
    say(f"  {found.why} (searched {found.file})")
