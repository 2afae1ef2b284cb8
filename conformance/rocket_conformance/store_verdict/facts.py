"""The facts of a store that the judge takes from the engine's `Store`, which describes each: files, state, configuration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rocket_spec.deviations import Audited
from rocket_spec.errors import UsageError

Audit = Callable[[Any], Audited]
"""Audits a store, given its facts: `rocket_columnar.audit.audited`."""


def store_of(facts: Any) -> Path:
    """The directory of a store; UsageError if its files are elsewhere."""
    if facts.path is None:
        raise UsageError(f"{facts.name}: not a directory of this machine")
    return Path(facts.path)
