"""The verb `query`: messages by key, as a broker would answer."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import Annotated, Final

import typer
from rocket_spec.errors import UsageError

__all__ = ["parse_time", "register"]

_NOT_FOUND: Final = 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONG: Final = range(-(1 << 63), 1 << 63)


def register(app: typer.Typer) -> None:
    """Adds `query` to the command."""
    app.command("query")(query)


def parse_time(text: str, option: str) -> int:
    """A time in ms since the epoch, from such a number or from ISO 8601 with a zone.

    Raises:
        UsageError: it is neither, or has no zone.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        if int(text) not in _LONG:
            raise UsageError(f"{option} {text}: more than a 64-bit integer holds")
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {text}: neither ms since the epoch nor ISO 8601, as 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        raise UsageError(f"{option} {text}: without a zone; add Z for UTC, or an offset such as +08:00")
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def query(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The directory of a store.")],
    *,
    topic: Annotated[str | None, typer.Option(help="The topic.", metavar="T")] = None,
    key: Annotated[str | None, typer.Option(help="A key or a unique key (message id).", metavar="K")] = None,
    unique_key: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The id that the client made (msgId); of any topic without --topic."),
    ] = None,
    offset_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The id that the broker made (offsetMsgId).")
    ] = None,
    begin: Annotated[
        str | None, typer.Option(metavar="TIME", help="First ms, or ISO 8601 with zone; else 0.")
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="Last ms, or ISO 8601 with zone; else the present.")
    ] = None,
    max_num: Annotated[
        int | None,
        typer.Option("--max", metavar="N", help="At most N messages; else 32; a broker never sends over 64."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Drop other keys with the same hash; count a message once.")
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Every message with the key, as no broker answers: no limit, no window, exact."
        ),
    ] = False,
    scan: Annotated[
        bool, typer.Option("--scan", help="As --all, but read the whole commit log instead of the index.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the walk, and why nothing is found.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    geometry: Annotated[
        str | None, typer.Option(metavar="S,N", help="Slots and entries of the index files; else inferred.")
    ] = None,
) -> None:
    """Find messages by key or id, through the index files, as a broker would.

    Times are store times; the index knows them to the second. A store whose broker crashed, or is writing, is answered
    from its bytes as they lie. Exit code 1 when no message is found.

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

    from rocket_columnar.index import parse_geometry
    from rocket_columnar.query import OpenStore

    from rocketspec._notes import note, skipped
    from rocketspec.verbs._waiting import waiting

    with OpenStore(store, None if geometry is None else parse_geometry(geometry)) as opened:
        for name, reason in (*opened.indexes.skipped, *opened.log.skipped):
            skipped(name, reason)
        for name, problem in opened.indexes.damaged:
            note(f"{name}: {problem}; it answers as far as it goes")
        with waiting("searching"):
            found, walk = explained(opened, asked) if explain else (answer(opened, asked), None)
    if as_json:
        shown = _query_view.as_json(found, walk, asked)
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n")
    else:
        _query_view.show(found, walk, asked)
    if not found.messages:
        raise typer.Exit(_NOT_FOUND)
