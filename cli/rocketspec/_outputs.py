"""Output that replaces an earlier one (`--force`)."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["replaced"]

_STORE: Final = ("commitlog", "checkpoint", "abort", "lock", "config")


@contextmanager
def replaced(directory: Path, parts: Sequence[str]) -> Iterator[None]:
    """Moves earlier output out of the way; deletes it if the block succeeds, and restores it otherwise.

    Args:
        directory: where the output is.
        parts: names of the files and directories in it that belong to the output.

    Raises:
        UsageError: the directory is a store, not output.
    """
    for name in _STORE:
        if (directory / name).exists():
            raise UsageError(
                f"{directory}: contains {name}, which is part of a store; refusing to replace it"
            )
    old = [directory / name for name in parts if (directory / name).exists()]
    if not old:
        yield
        return
    aside = Path(mkdtemp(prefix=".replaced-", dir=directory))
    for path in old:
        path.rename(aside / path.name)
    try:
        yield
    except BaseException:
        for path in old:
            (aside / path.name).rename(path)
        aside.rmdir()
        raise
    shutil.rmtree(aside)
