"""A store as the options name it: by its directory, or by the broker's configuration file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocket_spec.errors import MalformedError, UsageError

from rocketspec._options import read_geometry
from rocketspec._terminal import note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocket_columnar.findings import Finding
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

    from rocketspec._broker_conf import BrokerConf

__all__ = ["Settings", "mismatches", "read_settings", "warn"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a store is, and what its files look like.

    Attributes:
        store: its directory.
        commitlog: directories of its commit log beside `commitlog` in it.
        geometry: of the index files; None if it is to be inferred.
        conf: the broker's configuration, if it was given.
        options: those that named all this, for another verb's command line.
    """

    store: Path
    commitlog: tuple[Path, ...]
    geometry: Geometry | None
    conf: BrokerConf | None
    options: tuple[str, ...]


def read_settings(
    store: Path | None, commitlog: Sequence[str] | None, geometry: str | None, broker_conf: Path | None
) -> Settings:
    """What the options and the configuration name; an option overrides the configuration.

    The configuration's geometry is only taken if that of the files cannot be inferred. A directory of the
    configuration that is in its `storePathRootDir` is looked for in `store`.

    Raises:
        UsageError: no store is named, or a value is not one that a broker takes.
        OSError: the configuration cannot be read.
    """
    given = read_geometry(geometry)
    options = [part for folder in commitlog or () for part in ("--commitlog", folder)]
    options += [] if geometry is None else ["--geometry", geometry]
    options += [] if broker_conf is None else ["--broker-conf", str(broker_conf)]
    if broker_conf is None:
        if store is None:
            raise UsageError("name the directory of a store, or give --broker-conf FILE")
        return Settings(store, tuple(map(Path, commitlog or ())), given, None, tuple(options))

    from rocketspec._broker_conf import read_broker_conf

    conf = read_broker_conf(broker_conf)
    path = store
    if path is None:
        if conf.store is None:
            raise UsageError(f"{broker_conf}: does not set storePathRootDir; name the directory of the store")
        path = Path(conf.store)
    folders = tuple(map(Path, commitlog)) if commitlog else tuple(_log_folders(path, conf))
    return Settings(path, folders, given or _needed_geometry(path, conf), conf, tuple(options))


def _log_folders(store: Path, conf: BrokerConf) -> Iterator[Path]:
    """The configured directories of the log that are not STORE/commitlog; those that are missing are noted."""
    own = store / "commitlog"
    for text in conf.commit_logs:
        folder = Path(text)
        if conf.store is not None and folder.is_relative_to(conf.store):
            folder = store / folder.relative_to(conf.store)
        if _same(folder, own):
            continue
        if folder.is_dir():
            yield folder
        else:
            note(f"WARNING: COMMIT LOG MISSING: {conf.path} names {folder}, which is not a directory here")
    members = any(store.glob("dledger-*"))
    if conf.dledger != members and store.is_dir():
        found = "contains a log of DLedger mode" if members else "contains no log of DLedger mode"
        note(
            f"WARNING: MODE DIFFERS: {store} {found}, but {conf.path} sets enableDLegerCommitLog to {str(conf.dledger).lower()}"
        )
    if not conf.commit_logs and not conf.dledger and not members and store.is_dir() and not own.exists():
        note(
            f"WARNING: {conf.path} does not set storePathCommitLog: 4.9.3 then keeps the commit log in ~/store/commitlog "
            "of the user that runs the broker, wherever storePathRootDir is; use --commitlog"
        )


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _needed_geometry(store: Path, conf: BrokerConf) -> Geometry | None:
    """The configured geometry, if the files have its size and leave theirs open."""
    from rocket_columnar.index import resolve
    from rocket_columnar.store import usual_size

    sizes = _sizes(store, "index", ())
    usual = usual_size([size for _, size in sizes]) if sizes else 0
    if usual != conf.geometry.file_size:
        return None
    try:
        resolve([file for file, size in sizes if size == usual])
    except (UsageError, MalformedError, OSError):
        return conf.geometry
    return None


def infers_geometry(store: Path) -> bool:
    """Whether a rebuild infers the geometry of the index files from the store's own."""
    from rocket_columnar.index import resolve
    from rocket_columnar.store import usual_size

    sizes = [(file, size) for file, size in _sizes(store, "index", ()) if size]
    usual = usual_size([size for _, size in sizes]) if sizes else 0
    whole = [file for file, size in sizes if size == usual]
    for files in (whole, *([file] for file in whole)):
        try:
            resolve(files)
        except (UsageError, MalformedError, OSError):
            continue
        return True
    return False


def _sizes(store: Path, kind: str, commitlog: Sequence[Path]) -> list[tuple[StoreFile, int]]:
    from rocket_columnar.store import find_files, size_of

    try:
        files = find_files(store, kinds=(kind,), commitlog=commitlog) if store.is_dir() else []
    except UsageError:
        return []
    sizes = ((file, size_of(file)) for file in files)
    return [(file, size) for file, size in sizes if size is not None]


def mismatches(settings: Settings) -> list[Finding]:
    """How the store's files differ from the broker's configuration; the cure of each begins with "set"."""
    if settings.conf is None:
        return []
    found = (_queue_mismatch(settings), _log_mismatch(settings), _geometry_mismatch(settings))
    return [mismatch for mismatch in found if mismatch is not None]


def warn(settings: Settings) -> None:
    """Notes each mismatch, for a verb that reports no findings."""
    for mismatch in mismatches(settings):
        note(f"WARNING: {mismatch.file}: {mismatch.message}")


def _queue_mismatch(settings: Settings) -> Finding | None:
    if settings.conf is None:
        return None
    name = "mappedFileSizeConsumeQueue"
    return _size_mismatch(settings, "queue", "queue.size", name, settings.conf.queue_file_size)


def _log_mismatch(settings: Settings) -> Finding | None:
    if settings.conf is None:
        return None
    return _size_mismatch(
        settings, "log", "log.length", "mappedFileSizeCommitLog", settings.conf.log_file_size
    )


def _size_mismatch(settings: Settings, kind: str, code: str, name: str, wanted: int) -> Finding | None:
    """Files of one kind that all have another size than the configured one (`MappedFileQueue.load` 163-166)."""
    from rocket_columnar.findings import finding
    from rocket_columnar.store import usual_size

    sizes = [
        (file, size) for file, size in _sizes(settings.store, kind, settings.commitlog) if not file.framed
    ]
    if not sizes or any(size == wanted for _, size in sizes):
        return None
    usual = usual_size([size for _, size in sizes])
    if not usual:
        return None
    path = "" if settings.conf is None else settings.conf.path
    text = (
        f"FILE SIZE DIFFERS: found files of {usual:,} bytes, but {path} sets {name} to {wanted:,}: "
        "the broker refuses to start"
    )
    clause = "CQ-FILE-1" if kind == "queue" else "LOG-FILE-1"
    return finding(code, sizes[0][0].name, None, text, clause=clause, cure=f"set {name}={usual}")


def _geometry_mismatch(settings: Settings) -> Finding | None:
    from rocket_columnar.findings import finding
    from rocket_columnar.index import resolve
    from rocket_columnar.store import usual_size

    sizes, conf = _sizes(settings.store, "index", ()), settings.conf
    if not sizes or conf is None:
        return None
    usual = usual_size([size for _, size in sizes])
    try:
        seen = resolve([file for file, size in sizes if size == usual], settings.geometry).geometry
    except (UsageError, MalformedError, OSError):
        return None
    if seen == conf.geometry:
        return None
    slots, entries = seen
    text = (
        f"GEOMETRY DIFFERS: the index files have {slots:,} slots and {entries:,} entries, but {conf.path} sets "
        f"{conf.geometry.hash_slot_num:,} and {conf.geometry.index_num:,}: the broker finds no key in them, and its "
        "next puts damage the newest file"
    )
    cure = f"set maxHashSlotNum={slots} maxIndexNum={entries}"
    return finding("index.geometry", sizes[0][0].name, None, text, cure=cure)
