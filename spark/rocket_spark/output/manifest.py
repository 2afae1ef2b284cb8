"""What an output folder contains beside tables, and the manifest that lists its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "COMING",
    "MANIFEST",
    "OWNER",
    "SUCCESS",
    "TEMPORARY",
    "manifest_text",
    "parsed_manifest",
    "read_manifest",
]

MANIFEST: Final = "_manifest.json"
"""Lists the files that a job wrote, and what it read."""

COMING: Final = "_manifest.next.json"
"""A whole manifest on S3 or HDFS that is about to replace the other: it counts if that is gone."""

SUCCESS: Final = "_SUCCESS"
"""The empty file that is written last."""

OWNER: Final = "owner"
"""Names the job that writes into a folder; a job that another one has replaced there commits nothing and removes nothing."""

_VERSION: Final = 1

TEMPORARY: Final = "_temporary"
"""Where attempts stay until the commit. Readers of such folders ignore names that begin with `_`."""


def manifest_text(facts: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> str:
    """The manifest of a job: its own facts, then path and bytes of each file."""
    return json.dumps({"rocketspec_manifest": _VERSION, **facts, "files": files}, indent=1) + "\n"


def parsed_manifest(text: str | bytes, out: str) -> dict[str, Any]:
    """The manifest in the folder `out`; UsageError if it is damaged, or of another version."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    written = found.get("rocketspec_manifest") if isinstance(found, dict) else None
    if not isinstance(found, dict) or written != _VERSION:
        raise UsageError(
            f"{out}/{MANIFEST}: found {'no manifest' if written is None else f'version {written}'}, "
            f"expected version {_VERSION}; choose a new directory"
        )
    return found


def read_manifest(out: Path) -> dict[str, Any]:
    """The manifest of a folder whose job was committed.

    Raises:
        OSError: there is none.
    """
    (out / SUCCESS).stat()
    found: dict[str, Any] = json.loads((out / MANIFEST).read_bytes())
    return found
