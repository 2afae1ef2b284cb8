"""The facts of a store that the judge takes from the engine's `Store`: files, state, configuration."""
# ruff: noqa: D102 - each property is that of `rocket_columnar.facts.Store`, which describes it

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from rocket_spec.deviations import Audited
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

Audit = Callable[[Any], Audited]
"""Audits a store, given its facts: `rocket_columnar.audit.audited`."""


class LogFileFacts(Protocol):
    """One file of the commit log: where it is, its name in messages, its base offset, and whether DLedger keeps it."""

    @property
    def path(self) -> Path: ...
    @property
    def name(self) -> str: ...
    @property
    def base_offset(self) -> int: ...
    @property
    def framed(self) -> bool: ...


class Settings(Protocol):
    """The configuration of its broker."""

    @property
    def index_enabled(self) -> bool: ...
    @property
    def index_safe(self) -> bool: ...
    @property
    def log_file_size(self) -> int: ...
    @property
    def queue_file_size(self) -> int: ...


class StoreFacts(Protocol):
    """A broker's knowledge of a store.

    Functions that take the engine's `Store` from outside take `Any`: pyright holds no `cached_property` for a property.
    """

    @property
    def path(self) -> Path | None: ...
    @property
    def name(self) -> str: ...
    @property
    def release(self) -> str | None: ...
    @property
    def signs(self) -> Sequence[object]: ...
    @property
    def logs(self) -> Sequence[LogFileFacts]: ...
    @property
    def skipped(self) -> Sequence[tuple[str, str]]: ...
    @property
    def clean(self) -> bool: ...
    @property
    def framed(self) -> bool: ...
    @property
    def geometry(self) -> Geometry | None: ...
    @property
    def geometry_fault(self) -> Exception | None: ...
    @property
    def checkpoint_times(self) -> tuple[int, int, int]: ...
    @property
    def conf(self) -> Settings | None: ...
    @property
    def delays(self) -> tuple[int, ...]: ...
    @property
    def light(self) -> bool: ...
    @property
    def multi_dispatch(self) -> bool: ...


def store_of(facts: StoreFacts) -> Path:
    """The directory of a store; UsageError if its files are elsewhere."""
    if facts.path is None:
        raise UsageError(f"{facts.name}: not a directory of this machine")
    return facts.path
