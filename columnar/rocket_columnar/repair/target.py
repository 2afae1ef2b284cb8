"""The store to repair."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocket_spec.layout import Geometry

from rocket_columnar.report import Report, audit
from rocket_columnar.restart import Restart
from rocket_columnar.store import BrokerConf


@dataclass(frozen=True, slots=True)
class Target:
    """A store to repair, and what its files look like; as for `audit`."""

    store: Path
    commitlog: tuple[Path, ...] = ()
    geometry: Geometry | None = None
    conf: BrokerConf | None = None
    release: str | None = None

    @property
    def shape(self) -> dict[str, Any]:
        """The arguments that an audit and the prediction of a start have in common."""
        return {"geometry": self.geometry, "commitlog": self.commitlog, "release": self.release}

    def audit(self) -> Report:
        """What is wrong with the store."""
        return audit(self.store, broker_conf=self.conf, **self.shape)

    def chosen(self, found: tuple[Restart, Restart]) -> Restart:
        """The prediction for the broker's messageIndexSafe."""
        return found[1] if self.conf is not None and self.conf.index_safe else found[0]
