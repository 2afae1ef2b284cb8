"""The verb `diff`: two files, field by field, or two stores."""

from __future__ import annotations

import base64
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._terminal import progress, say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocket_columnar.describe import ConfigDifference, FieldDifference, StoreDifference


_SHOWN: Final = 60  # characters of a value


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _short(value: Any) -> str:
    text = str(_plain(value))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _line(found: FieldDifference) -> str:
    number = "" if found.number is None else f" {found.number:,}"
    place = "" if found.offset is None else f" (byte {found.offset:,})"
    return f"{found.part}{number} {found.field}{place}: {_short(found.first)} | {_short(found.second)}"


_COUNTED: Final = {"log": ("record", "records"), "index": ("entry", "entries")}


def _store_line(found: StoreDifference, stores: tuple[Path, Path]) -> str:
    part = found.part if found.part in _COUNTED else f"queue {found.part}"
    if found.store is None:
        inside = "" if found.record is None else f", in the record at {found.record:,}"
        return f"{part}: first difference at {_offset(found)}{inside}"
    count = counted(found.count or 0, *_COUNTED.get(found.part, ("unit",)))
    late, other = stores[found.store - 1], stores[2 - found.store]
    if found.what == "behind":
        return f"{part}: {late} is behind by {count}: it ends at {_offset(found)}"
    if found.what == "missing":
        return f"{part}: missing in {late}; {other} has {count}"
    return f"{part}: {late} begins later: {count} from {_offset(found)} on are only in {other}"


_CONFIGURED: Final = {
    "consumer_offsets": "consumer offset of {}, {} queue {}",
    "delay_offsets": "delay offset of level {}",
    "topics": "topic {}",
    "subscription_groups": "group {}",
}


def _config_line(found: ConfigDifference, stores: tuple[Path, Path]) -> str:
    pairs = zip((found.first, found.second), stores, strict=True)
    if not found.key:
        broken = next(store for starts, store in pairs if not starts)
        return f"config, {found.table}: a broker cannot load the table in {broken}"
    what = _CONFIGURED[found.table].format(*found.key)
    if found.column not in (None, "offset"):
        what += f", {found.column}"
    return f"{what}: {', '.join(f'{_value(value, found.column)} in {store}' for value, store in pairs)}"


def _value(value: Any, column: str | None) -> str:
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return str(value).lower() if column else "there"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _shown(found: ConfigDifference | FieldDifference | StoreDifference, stores: tuple[Path, Path]) -> str:
    from rocket_columnar.describe import ConfigDifference, StoreDifference

    if isinstance(found, StoreDifference):
        return _store_line(found, stores)
    return _config_line(found, stores) if isinstance(found, ConfigDifference) else _line(found)


def _offset(found: StoreDifference) -> str:
    return f"{'physical' if found.part in _COUNTED else 'logical'} offset {found.offset:,}"


def diff(
    first: Path,
    second: Path,
    *,
    kind: str | None = None,
    geometry: str | None = None,
    broker_conf: Path | None = None,
    as_json: bool = False,
) -> None:
    """Compare two files of a store field by field, or two stores that should hold the same messages.

    Of two stores, such as a master's and a slave's, it prints which one is behind and by how much, and the first difference
    of the logs and of each queue. Consumer offsets, delay offsets, topics and groups are compared too.

    Examples:
      rocketspec diff ~/master/store ~/slave/store
      rocketspec diff a/20260131120000000 b/20260131120000012
    """
    from rocket_columnar.describe import compare_configurations, compare_stores
    from rocket_columnar.describe import diff as engine
    from rocket_columnar.facts import as_store
    from rocket_columnar.store import read_broker_conf

    stores = first.is_dir() and second.is_dir()
    of_files = {"--kind": kind, "--geometry": geometry, "--broker-conf": broker_conf}
    option.refuse(of_files if stores else {}, "requires two files", before=f"{first}: is a directory; ")
    given = option.read_geometry(geometry)
    if given is None and broker_conf is not None:
        given = read_broker_conf(broker_conf).geometry
    count = 0
    with progress("comparing", unit="bytes") as step:
        differences: Iterable[ConfigDifference | FieldDifference | StoreDifference]
        if stores:
            pair = as_store(first), as_store(second)
            differences = chain(compare_stores(*pair, on_progress=step), compare_configurations(*pair))
        else:
            differences = engine(first, second, kind=kind, geometry=given, on_progress=step)
        for found in differences:
            count += 1
            if as_json:
                option.write_json({name: _plain(value) for name, value in asdict(found).items()})
            else:
                say(_shown(found, (first, second)))
    option.print_rows([], [counted(count, "difference") if count else "no differences"], as_json=as_json)
    if count:
        raise typer.Exit(option.FINDINGS)
