"""Runs code of another checkout with this environment's packages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["environment"]

_ROOTS: Final = ("", "spec", "golden", "columnar", "reference", "conformance", "spark", "cli")


def environment(checkout: Path, caches: Path) -> dict[str, str]:
    """The variables of a process that imports the rooms and benchmarks of a checkout; compiled code is kept in `caches`."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(checkout / root) for root in _ROOTS),
        "NUMBA_CACHE_DIR": str(caches / f"numba-{checkout.name}"),
    }
