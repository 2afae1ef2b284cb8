"""The folder in which Numba keeps compiled code between starts."""

import hashlib
import os
import stat
import sys
from functools import cache
from pathlib import Path

from rocket_spec import layout


@cache
def cache_folder() -> Path | None:
    """The folder of code compiled from these sources; None if no folder is the user's alone.

    Numba runs what it finds there. So it is never in the working folder or beside a store: it is in `$XDG_CACHE_HOME` or
    `~/.cache`, is made for its owner alone, and is not used if someone else owns it or may write to it. Numba compares a
    function with its own module only; a loop also contains functions and constants of others, hence a folder for each
    state of all of them. A `NUMBA_CACHE_DIR` of the user's takes precedence, and so does what a program that has imported
    Numba before has chosen.
    """
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    try:
        parent = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
        folder = parent / "rocketspec" / "compiled"
        if not folder.is_absolute():
            return None
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_own(folder):
            return None
    except (OSError, RuntimeError):  # no home, or nothing can be written there
        return None
    return folder / _sources()


def _is_own(folder: Path) -> bool:
    """Whether a folder is the user's, and nobody else may write to it."""
    found = folder.lstat()
    if sys.platform == "win32":
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _sources() -> str:
    sources = sorted(Path(__file__).parent.glob("compiled/*.py"))
    texts = [source.read_bytes() for source in (*sources, Path(layout.__file__))]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
