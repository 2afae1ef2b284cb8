"""What an output folder contains beside tables, and the manifest that lists its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["MANIFEST", "SUCCESS", "TEMPORARY", "manifest_text", "read_manifest"]

MANIFEST: Final = "_manifest.json"
"""Lists the files that a job wrote, and what it read."""

SUCCESS: Final = "_SUCCESS"
"""The empty file that is written last."""

TEMPORARY: Final = "_temporary"
"""Where attempts stay until the commit. Readers of such folders ignore names that begin with `_`."""


def manifest_text(facts: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> str:
    """The manifest of a job: its own facts, then path and bytes of each file."""
    return json.dumps({"rocketspec_manifest": 1, **facts, "files": files}, indent=1) + "\n"


def read_manifest(out: Path) -> dict[str, Any]:
    """The manifest of a folder whose job was committed.

    Raises:
        OSError: there is none.
    """
    (out / SUCCESS).stat()
    found: dict[str, Any] = json.loads((out / MANIFEST).read_bytes())
    return found
