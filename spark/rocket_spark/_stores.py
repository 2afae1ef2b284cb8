"""Several stores in one job: what each is called in the output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["StorePath", "name_stores"]

StorePath = str | Path


def name_stores(stores: StorePath | Sequence[StorePath]) -> dict[str, Path]:
    """Absolute paths by name: one store has none; of several, what follows their common folder (`broker-a/store`).

    Raises:
        UsageError: none, one twice, or one within another.
    """
    given = [stores] if isinstance(stores, str | Path) else list(stores)
    if not given:
        raise UsageError("no store to read")
    paths = [Path(os.path.abspath(store)) for store in given]  # noqa: PTH100  (symbolic links name the place)
    if len(paths) == 1:
        return {"": paths[0]}
    for number, path in enumerate(paths):
        for other in paths[:number]:
            if path.is_relative_to(other) or other.is_relative_to(path):
                raise UsageError(
                    f"{path}: is read already as {other}" if path == other else f"{path}: overlaps {other}"
                )
    common = os.path.commonpath(paths)
    return {path.relative_to(common).as_posix(): path for path in paths}
