"""The store to repair."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocket_spec.layout import Geometry

from rocket_columnar.facts import Store
from rocket_columnar.restart import Restart
from rocket_columnar.store import BrokerConf


@dataclass(frozen=True, slots=True)
class Target:
    """A store to repair, and what its files look like; as for `audit`.

    Attributes:
        offsets: a `consumerOffset.json` of a replica, for offsets of groups that are beyond their queues.
    """

    store: Path
    commitlog: tuple[Path, ...] = ()
    geometry: Geometry | None = None
    conf: BrokerConf | None = None
    release: str | None = None
    offsets: Path | None = None

    def look(self) -> Store:
        """The store as it is now."""
        return Store(
            self.store,
            commitlog=self.commitlog,
            geometry=self.geometry,
            conf=self.conf,
            release=self.release,
        )

    def chosen(self, found: tuple[Restart, Restart]) -> Restart:
        """The prediction for the broker's messageIndexSafe."""
        return found[1] if self.conf is not None and self.conf.index_safe else found[0]
