"""The error of a stream whose next rows the store no longer has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_spec.errors import MalformedError

if TYPE_CHECKING:
    from rocket_columnar.store import StoreFile

__all__ = ["lost"]


def lost(file: StoreFile, found: str, expected: str) -> MalformedError:
    """The error of `failOnDataLoss`."""
    return MalformedError(
        file=file.name,
        found=found,
        expected=f"{expected}, where the stream stands; option failOnDataLoss=false goes on without",
    )
