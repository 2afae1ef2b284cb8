"""Values of options, exit codes, JSON output, and a store as options name it: by its directory or by the broker's configuration."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.errors import UsageError

from rocketspec._terminal import note, say_all, shown_json

if TYPE_CHECKING:
    from rocket_columnar.audit import Level
    from rocket_columnar.facts import Store
    from rocket_columnar.findings import Finding
    from rocket_columnar.store import BrokerConf
    from rocket_spec.layout import Geometry

FINDINGS: Final = 1
USAGE: Final = 2
UNREADABLE: Final = 3
INTERRUPTED: Final = 130

# The values of --format, --kind and --timestamps.
FORMATS: Final = ("jsonl", "csv", "table", "parquet", "arrow")
KINDS: Final = ("index", "queue", "ext", "log", "checkpoint", "batch", "timer_wheel", "timer_log")
TIME_FORMS: Final = ("millis", "utc")
_LONG: Final = range(-(1 << 63), 1 << 63)


def audit_level(*, quick: bool, deep: bool) -> Level:
    """The level of `--quick` and `--deep`; UsageError if both are given."""
    if quick and deep:
        raise UsageError("--quick and --deep are mutually exclusive")
    return "quick" if quick else "deep" if deep else "default"


def refuse(options: Mapping[str, object], why: str, *, before: str = "") -> None:
    """Refuses options that do not go with others.

    Args:
        options: values by name; None, False and an empty list stand for options that are not given.
        why: follows the name of the first one that is given.
        before: precedes the name.

    Raises:
        UsageError: one is given.
    """
    for name, value in options.items():
        if value is not None and value is not False and value != []:
            raise UsageError(f"{before}{name} {why}")


def be_gentle(*, gentle: bool, rate: float | None) -> int | None:
    """Has this process spare others as `--gentle` and `--rate` ask for; the number of threads to use, None for the default."""
    if rate is not None and not rate > 0:
        raise UsageError(f"--rate {rate:g}: expected a positive number of megabytes per second")
    if not gentle and rate is None:
        return None
    from rocket_columnar.store import GentleReads, lower_priority, read_gently

    lower_priority()
    read_gently(GentleReads(None if rate is None else rate * 1e6))
    return 1


def read_geometry(text: str | None) -> Geometry | None:
    """The geometry of `--geometry`; UsageError if it is not two numbers that a file can have."""
    from rocket_spec.layout import parse_geometry

    return None if text is None else parse_geometry(text)


def in_utc(timestamps: str) -> bool:
    """Whether `--timestamps` asks for timestamps instead of numbers; UsageError if it is no such form."""
    if timestamps not in TIME_FORMS:
        raise UsageError(f"--timestamps {timestamps}: expected {' or '.join(TIME_FORMS)}")
    return timestamps == "utc"


def use_zone(text: str | None) -> Callable[[datetime], datetime] | None:
    """Sets the zone for printing times; returns a function that adds it to naive times, None without `--tz`. UsageError for no zone."""
    if text is None:
        return None
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from rocket_columnar.formats import show_times_in

    try:
        offset = re.fullmatch("[+-][0-9]{2}:[0-9]{2}", text)
        zone = datetime.fromisoformat(f"2000-01-01T00:00{text}").tzinfo if offset else ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        if text != "local":
            raise UsageError(
                f"--tz {text}: expected a time zone such as Asia/Shanghai, an offset such as +08:00, or local"
            ) from None
        zone = None
    show_times_in(zone)
    return lambda moment: moment.astimezone() if zone is None else moment.replace(tzinfo=zone)


def read_time(text: str, option: str, place: Callable[[datetime], datetime] | None = None) -> int:
    """A time in ms since the epoch, from such a number or from ISO 8601; `place` places a time without a zone in one.

    UsageError, with the `option` that gave it, if it is neither, or has no time zone.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        if int(text) not in _LONG:
            raise UsageError(f"{option} {text}: out of the range of a 64-bit integer")
        return int(text)
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {text}: expected milliseconds since 1970, or ISO 8601 with a time zone such as 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None and place is not None:
        moment = place(moment)
    if moment.tzinfo is None:
        raise UsageError(
            f"{option} {text}: the time zone is missing; add Z for UTC, or an offset such as +08:00"
        )
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def write_json(value: Any, *, indent: int | None = None) -> None:
    """Prints `value` as JSON, on one line without `indent`; characters that the encoding of stdout may lack are escaped."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    between = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=plain, separators=between, indent=indent, default=dict)
    sys.stdout.write((shown_json(text) if sys.stdout.isatty() else text) + "\n")


def print_rows(rows: Iterable[Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Prints a result: its rows as JSON, one a line, or its lines."""
    if as_json:
        for row in rows:
            write_json(row)
    else:
        say_all(lines)


_NAMED: Final = 20  # topics in a message


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The place of a store, and the form of its files.

    `commitlog` are directories of its commit log beside that in it; the geometry is that of an option, None if it is to be inferred; `options`
    are those that named all this, for another verb's command line.
    """

    store: Path
    commitlog: tuple[Path, ...]
    geometry: Geometry | None
    conf: BrokerConf | None
    options: tuple[str, ...]

    def open(self, release: str | None = None, user: str | None = None) -> Store:
        """The store, written by a `release` if that is known, and whose broker a `user` starts; UsageError if there is none."""
        from rocket_columnar.facts import Store

        return Store(self.store, **self.known, release=release, user=user)

    def open_whole(self) -> Store | None:
        """The store; None for one file, or a directory that is none."""
        try:
            return self.open() if self.store.is_dir() else None
        except UsageError:
            return None

    @property
    def known(self) -> dict[str, Any]:
        """The settings as arguments of `Store`."""
        return {"commitlog": self.commitlog, "geometry": self.geometry, "conf": self.conf}

    @property
    def shape(self) -> Geometry | None:
        """The geometry: as an option gave it, or of the configuration if that of the files cannot be inferred."""
        store = self.open_whole()
        return self.geometry if store is None else store.shape


def read_settings(
    store: Path | None, commitlog: Sequence[str] | None, geometry: str | None, broker_conf: Path | None
) -> StoreOptions:
    """The settings that the options and the configuration give; an option overrides the configuration.

    The configuration's geometry is only taken if that of the files cannot be inferred. A directory of the
    configuration that is in its `storePathRootDir` is looked for in `store`.
    """
    given = read_geometry(geometry)
    options = [part for folder in commitlog or () for part in ("--commitlog", os.path.abspath(folder))]
    options += [] if geometry is None else ["--geometry", geometry]
    options += [] if broker_conf is None else ["--broker-conf", os.path.abspath(broker_conf)]
    if broker_conf is None:
        if store is None:
            raise UsageError("name the directory of a store, or give --broker-conf FILE")
        return StoreOptions(store, tuple(map(Path, commitlog or ())), given, None, tuple(options))

    from rocket_columnar.report import log_folders
    from rocket_columnar.store import read_broker_conf

    conf = read_broker_conf(broker_conf)
    path = store
    if path is None:
        if conf.store is None:
            raise UsageError(f"{broker_conf}: does not set storePathRootDir; name the directory of the store")
        path = Path(conf.store)
    folders = (
        tuple(map(Path, commitlog))
        if commitlog
        else tuple(log_folders(path, conf, lambda text: note(f"WARNING: {text}")))
    )
    return StoreOptions(path, folders, given, conf, tuple(options))


def warn(settings: StoreOptions, store: Store | None = None) -> list[Finding]:
    """Notes the signs of 5.x, and how files differ from the broker's configuration, for a verb that reports no findings; the differences."""
    if store is None and settings.conf is None:
        note_release(settings.store, settings.commitlog)
        return []
    store = store or settings.open()
    found = differences(store)
    note_differences(store, found)
    return found


def differences(store: Store) -> list[Finding]:
    """The differences of files from the broker's configuration, notes left out; finds the signs of 5.x, too."""
    from rocket_columnar.report import mismatches

    _ = store.signs
    found = () if store.conf is None else mismatches(store, store.conf)
    return [one for one in found if one.severity != "note"]


def note_differences(store: Store, found: list[Finding]) -> None:
    """Notes the signs of 5.x that a store has, and what was found."""
    from rocket_columnar.store import later_line

    if store.signs:
        note(f"{store.path}: {later_line(store.signs)}")
    for one in found:
        note(f"WARNING: {one.file}: {one.message}")


def note_release(path: Path, commitlog: Sequence[Path] = ()) -> None:
    """Notes the signs that a release of 5.x wrote to a store or file, if there are any."""
    from rocket_columnar.store import later_line, signs_at

    signs = signs_at(path, commitlog)
    if signs:
        note(f"{path}: {later_line(signs)}")


def listed(topics: Sequence[str]) -> str:
    """Some of the topics, for a message."""
    more = len(topics) - _NAMED
    return ", ".join(topics[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
