"""The verb `diff`: two files, field by field, or two stores."""

from __future__ import annotations

import base64
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rocket_spec.errors import UsageError

from rocketspec import _options as option
from rocketspec._terminal import progress, say

if TYPE_CHECKING:
    from rocket_columnar.describe import Difference, StoreDifference


_SHOWN: Final = 60  # characters of a value


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _short(value: Any) -> str:
    text = str(_plain(value))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _line(found: Difference) -> str:
    number = "" if found.number is None else f" {found.number:,}"
    place = "" if found.offset is None else f" (byte {found.offset:,})"
    return f"{found.part}{number} {found.field}{place}: {_short(found.first)} | {_short(found.second)}"


_COUNTED: Final = {"log": ("record", "records"), "index": ("entry", "entries")}


def _store_line(found: StoreDifference, stores: tuple[Path, Path]) -> str:
    part = found.part if found.part in _COUNTED else f"queue {found.part}"
    if found.store is None:
        inside = "" if found.record is None else f", in the record at {found.record:,}"
        return f"{part}: first difference at {_offset(found)}{inside}"
    count = option.counted(found.count or 0, *_COUNTED.get(found.part, ("unit",)))
    late, other = stores[found.store - 1], stores[2 - found.store]
    if found.what == "behind":
        return f"{part}: {late} is behind by {count}: it ends at {_offset(found)}"
    if found.what == "missing":
        return f"{part}: missing in {late}; {other} has {count}"
    return f"{part}: {late} begins later: {count} from {_offset(found)} on are only in {other}"


def _offset(found: StoreDifference) -> str:
    return f"{'physical' if found.part in _COUNTED else 'logical'} offset {found.offset:,}"


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A file or a store.")],
    second: Annotated[
        Path, typer.Argument(metavar="B", help="Another file of the same kind, or another store.")
    ],
    *,
    kind: option.KindText = None,
    geometry: option.GeometryText = None,
    broker_conf: option.BrokerConfFile = None,
    as_json: option.JsonLines = False,
) -> None:
    """Compare two files of a store field by field, or two stores that should hold the same messages.

    Of two stores, such as a master's and a slave's, it prints which one is behind and by how much, and the first difference
    of the logs and of each queue.

    Examples:
      rocketspec diff ~/master/store ~/slave/store
      rocketspec diff a/20260131120000000 b/20260131120000012
    """
    from rocket_columnar.describe import StoreDifference, compare_stores
    from rocket_columnar.describe import diff as engine
    from rocket_columnar.store import read_broker_conf

    given = option.read_geometry(geometry)
    if given is None and broker_conf is not None:
        given = read_broker_conf(broker_conf).geometry
    count = 0
    stores = first.is_dir() and second.is_dir()
    for name, value in {"--kind": kind, "--geometry": given}.items():
        if stores and value is not None:
            raise UsageError(f"{first}: is a directory; {name} requires two files")
    with progress("comparing", unit="bytes") as step:
        for found in (
            compare_stores(first, second, on_progress=step)
            if stores
            else engine(first, second, kind=kind, geometry=given, on_progress=step)
        ):
            count += 1
            if as_json:
                option.write_json({name: _plain(value) for name, value in asdict(found).items()})
            else:
                say(
                    _store_line(found, (first, second))
                    if isinstance(found, StoreDifference)
                    else _line(found)
                )
    if not as_json:
        typer.echo(option.counted(count, "difference") if count else "no differences")
    if count:
        raise typer.Exit(option.FINDINGS)
