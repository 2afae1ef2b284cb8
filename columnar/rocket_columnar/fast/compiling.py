"""The conditions for compiled loops: the folder of their code, settings for which Numba is not loaded, and lines for the user."""

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from rocket_spec import layout

# The folder in which Numba keeps compiled code between starts.


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
    texts = [
        source.read_bytes() for source in (Path(__file__).with_name("compiled.py"), Path(layout.__file__))
    ]
    return folder / hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def _is_own(folder: Path) -> bool:
    """Whether a folder is the user's, and nobody else may write to it."""
    found = folder.lstat()
    if sys.platform == "win32":
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


SETTINGS: Final = ".numba_config.yaml"
"""A file of the working folder from which Numba would take its settings, such as the folder of code that it loads."""

_listener: Callable[[str], object] | None = None
_reported: set[str] = set()


def settings_in_the_way() -> bool:
    """Whether the working folder has settings for Numba, which then is not loaded: the folder may be someone else's."""
    try:
        found = Path(SETTINGS).exists()
    except OSError:  # nor could Numba read them
        return False
    if found:
        report_once(
            f"{SETTINGS} in the working folder: loops are not compiled, which takes longer; use another folder"
        )
    return found


def announce(listener: Callable[[str], object] | None) -> None:
    """Sets what is called with each line; None discards them."""
    global _listener  # noqa: PLW0603 - one process, one terminal
    _listener = listener


def report_once(line: str) -> None:
    """Passes a line on, once."""
    if _listener is not None and line not in _reported:
        _reported.add(line)
        _listener(line)
