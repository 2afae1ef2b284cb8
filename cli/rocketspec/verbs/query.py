"""The verb `query`: messages by key, as a broker would answer."""

from __future__ import annotations

import json
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import Annotated, Final

import typer
from rocket_spec.errors import InvalidError, UsageError

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
    topic: Annotated[str, typer.Option(help="The topic.", metavar="T")],
    key: Annotated[str, typer.Option(help="A key or a unique key (message id).", metavar="K")],
    begin: Annotated[
        str | None, typer.Option(metavar="TIME", help="First ms, or ISO 8601 with zone. [0]")
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="Last ms, or ISO 8601 with zone. [now]")
    ] = None,
    max_num: Annotated[
        int, typer.Option("--max", metavar="N", help="At most N messages; a broker never sends over 64.")
    ] = 32,
    exact: Annotated[
        bool, typer.Option("--exact", help="Drop other keys with the same hash; count a message once.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the walk, and why nothing is found.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    geometry: Annotated[
        str | None, typer.Option(metavar="S,N", help="Slots and entries of the index files. [inferred]")
    ] = None,
) -> None:
    """Find messages by key, through the index files, as a broker would.

    Times are store times; the index knows them to the second. A store whose broker crashed is answered from its
    bytes as they lie. Exit code 1 when no message is found.

    Example: `rocketspec query ~/store --topic Orders --key order-1001 --begin 2026-01-31T00:00:00Z --explain`
    """
    first = 0 if begin is None else parse_time(begin, "--begin")
    last = time.time_ns() // 1_000_000 if end is None else parse_time(end, "--end")
    if max_num < 0:
        raise UsageError(f"--max {max_num}: a negative number of messages")

    from rocket_columnar.explain import explain as walk
    from rocket_columnar.geometry import parse_geometry
    from rocket_columnar.query import Answer, OpenStore

    from rocketspec.verbs import _query_view
    from rocketspec.verbs._waiting import waiting

    explanation = None
    with OpenStore(store, None if geometry is None else parse_geometry(geometry)) as opened:
        for name, reason in opened.indexes.skipped:
            sys.stderr.write(f"rocketspec: {name}: skipped, {reason}\n")
        with waiting("searching"):
            ask = opened.query_exact if exact else opened.query
            try:
                answer = ask(topic, key, max_num=max_num, begin=first, end=last)
            except InvalidError:
                if not explain:
                    raise
                answer = Answer((), (), 0, 0, truncated=False)
            if explain:
                explanation = walk(opened, topic, key, max_num=max_num, begin=first, end=last, exact=exact)
    if as_json:
        shown = _query_view.as_json(answer, explanation)
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n")
    else:
        _query_view.show(answer, explanation, topic, key)
    if not answer.messages:
        raise typer.Exit(_NOT_FOUND)
