"""What an output folder contains beside tables: the manifest that lists its files, and entries of finished tasks.

An entry has what a task returned, and is kept beside its attempts: a killed job starts from these. It is named by a digest
of the task, the job's options and the version of rocketspec, so a run with the same plan finds it, and a task whose files
or options changed is run again.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError

from rocket_spark.files import storage_for

MANIFEST: Final = "_manifest.json"
"""Lists the files that a job wrote, and what it read."""

COMING: Final = "_manifest.next.json"
"""A whole manifest that is about to replace the other: it counts if that is gone."""

SUCCESS: Final = "_SUCCESS"
"""The empty file that is written last."""

OWNER: Final = "owner"
"""Names the job that writes into a folder; a job that another one has replaced there commits nothing and removes nothing."""

ENTRY: Final = "done-"
"""What the names of entries begin with."""

_VERSION: Final = 1

TEMPORARY: Final = "_temporary"
"""Where attempts stay until the commit. Readers of such folders ignore names that begin with `_`."""


def manifest_text(facts: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> str:
    """The manifest of a job: its own facts, then path and bytes of each file."""
    return json.dumps({"rocketspec_manifest": _VERSION, **facts, "files": files}, indent=1) + "\n"


def earlier_manifest(out: str | Path, storage: Mapping[str, str] | None) -> dict[str, Any] | None:
    """The manifest of an output folder, also of one that a killed `add` left; None if there is none.

    Raises:
        UsageError: it is damaged, or of another version.
        OSError: it cannot be read.
    """
    files, uri = storage_for(str(out), storage)
    for name in (MANIFEST, COMING):
        try:
            found = json.loads(files.read(f"{uri.rstrip('/')}/{name}"))
        except FileNotFoundError:
            continue
        except (ValueError, RecursionError):
            found = None
        written = found.get("rocketspec_manifest") if isinstance(found, dict) else None
        if not isinstance(found, dict) or written != _VERSION:
            raise UsageError(
                f"{out}/{MANIFEST}: found {'no manifest' if written is None else f'version {written}'}, "
                f"expected version {_VERSION}; choose a new directory"
            )
        return found
    return None


def task_id(task: Any, job: str = "") -> str:
    """A digest of a task: equal for the same task of a later run of the same `job`."""
    return sha256(repr((job, task)).encode()).hexdigest()[:32]


def job_id(options: Any) -> str:
    """What decides the outcome of a task beside the task: the options, and this version, which workers may not know."""
    try:
        return f"{version('rocketspec')} {options!r}"
    except PackageNotFoundError:
        return repr(options)
