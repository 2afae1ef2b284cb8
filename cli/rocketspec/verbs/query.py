"""The verb `query`: messages by key, as a broker would answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import (
    FINDINGS,
    AsJson,
    GeometryText,
    StorePath,
    exit_codes,
    read_geometry,
    write_json,
)

__all__ = ["parse_time", "register"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONG: Final = range(-(1 << 63), 1 << 63)


def register(app: typer.Typer) -> None:
    """Adds `query` to the command."""
    app.command("query", epilog=exit_codes("no message is found"))(query)


def parse_time(text: str, option: str) -> int:
    """A time in ms since the epoch, from such a number or from ISO 8601 with a time zone.

    Raises:
        UsageError: it is neither, or has no time zone.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        if int(text) not in _LONG:
            raise UsageError(f"{option} {text}: out of the range of a 64-bit integer")
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {text}: expected milliseconds since 1970, or ISO 8601 with a time zone such as 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        raise UsageError(
            f"{option} {text}: the time zone is missing; add Z for UTC, or an offset such as +08:00"
        )
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def query(
    store: StorePath,
    *,
    topic: Annotated[str | None, typer.Option(metavar="T", help="Topic of the message.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="K", help="A key of the message, or its unique key.")
    ] = None,
    unique_key: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Message ID made by the client (msgId). Without --topic, all topics are searched.",
        ),
    ] = None,
    offset_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Message ID made by the broker (offsetMsgId).")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Earliest store time: ms since 1970, or ISO 8601 with time zone. \\[default: 0]",
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
    as_json: AsJson = False,
    geometry: GeometryText = None,
) -> None:
    """Find messages by key or ID through the index files, as a broker would.

    Times are store times, which the index keeps in whole seconds. The store of a crashed or running broker is read
    as it is.

    Example: `rocketspec query ~/store --topic Orders --key order-1001 --begin 2026-01-31T00:00:00Z --explain`
    """
    first, last = (
        None if text is None else parse_time(text, option)
        for text, option in ((begin, "--begin"), (end, "--end"))
    )

    from rocketspec.verbs import _query_view
    from rocketspec.verbs._query_ask import Asked, answer, explained

    asked = Asked(topic, key, unique_key, offset_id, first, last, max_num, exact, every, scan)
    asked.check(explain=explain)

    from rocket_columnar.query import OpenStore

    from rocketspec._terminal import note, progress, skipped

    with OpenStore(store, read_geometry(geometry)) as opened:
        for name, reason in (*opened.indexes.skipped, *opened.log.skipped):
            skipped(name, reason)
        for name, problem in opened.indexes.damaged:
            note(f"{name}: {problem}; the part before it is searched")
        with progress("searching"):
            found, walk = explained(opened, asked) if explain else (answer(opened, asked), None)
    if as_json:
        write_json(_query_view.as_json(found, walk, asked))
    else:
        _query_view.show(found, walk, asked)
    if not found.messages:
        raise typer.Exit(FINDINGS)
