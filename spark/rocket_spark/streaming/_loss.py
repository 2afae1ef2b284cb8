"""What a stream says when the store no longer has what it was to read next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_spec.errors import MalformedError

if TYPE_CHECKING:
    from rocket_columnar.store import StoreFile

__all__ = ["lost"]


def lost(file: StoreFile, what: str, wanted: int) -> MalformedError:
    """The error of `failOnDataLoss`."""
    return MalformedError(
        file=file.name,
        found=f"{what} gone",
        expected=f"all from {wanted:,} on, where the stream stands; option failOnDataLoss=false goes on without",
    )
