"""A store as the options name it, by its directory or by the broker's configuration file, and small questions about it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.errors import UsageError

from rocketspec._options import read_geometry
from rocketspec._terminal import note

if TYPE_CHECKING:
    from rocket_columnar.facts import Store
    from rocket_columnar.store import BrokerConf
    from rocket_spec.layout import Geometry

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


def warn(settings: StoreOptions, store: Store | None = None) -> None:
    """Notes the signs of 5.x, and how files differ from the broker's configuration, for a verb that reports no findings."""
    from rocket_columnar.report import mismatches
    from rocket_columnar.store import later_line

    if store is None:
        note_release(settings.store, settings.commitlog)
        if settings.conf is None:
            return
        store = settings.open()
    elif store.signs:
        note(f"{store.path}: {later_line(store.signs)}")
    for found in mismatches(store, store.conf) if store.conf is not None else ():
        note(f"WARNING: {found.file}: {found.message}")


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
