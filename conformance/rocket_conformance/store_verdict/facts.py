"""The facts of a store that the judge takes from the engine's `Store`: files, state, configuration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rocket_spec.layout import Geometry


class LogFileFacts(Protocol):
    """One file of the commit log: where it is, its name in messages, its base offset, and whether it is DLedger's."""

    @property
    def path(self) -> Path:
        """The path."""
        ...

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

    @property
    def base_offset(self) -> int:
        """Physical offset of its first byte."""
        ...

    @property
    def framed(self) -> bool:
        """Whether DLedger keeps it."""
        ...


class Settings(Protocol):
    """The configuration of its broker."""

    @property
    def index_enabled(self) -> bool:
        """`messageIndexEnable`."""
        ...


class StoreFacts(Protocol):
    """A broker's knowledge of a store: `rocket_columnar.facts.Store` has it."""

    @property
    def path(self) -> Path | None:
        """Its directory; None if its files are elsewhere."""
        ...

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

    @property
    def logs(self) -> Sequence[LogFileFacts]:
        """The files of its log, in order, those of DLedger last."""
        ...

    @property
    def skipped(self) -> Sequence[tuple[str, str]]:
        """Names of files that were not read, each with the reason."""
        ...

    @property
    def clean(self) -> bool:
        """Whether the broker stopped cleanly."""
        ...

    @property
    def geometry(self) -> Geometry | None:
        """The geometry of its index files; None if it cannot be inferred."""
        ...

    @property
    def geometry_fault(self) -> Exception | None:
        """The reason why the geometry cannot be inferred."""
        ...

    @property
    def conf(self) -> Settings | None:
        """The broker's configuration, if it is known."""
        ...

    @property
    def delays(self) -> tuple[int, ...]:
        """Delays of the levels, ms."""
        ...

    @property
    def light(self) -> bool:
        """Whether light queues have the number 0."""
        ...

    def is_deleted(self, topic: str) -> bool:
        """Whether a topic of the log was deleted."""
        ...
