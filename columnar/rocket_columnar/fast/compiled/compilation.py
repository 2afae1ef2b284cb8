"""How loops are compiled: by Numba, when one is first called, unless its cache has the code."""

from threading import Lock
from typing import Any, Final, TypeVar, cast

import numpy as np
from rocket_spec.errors import UsageError

from rocket_columnar.fast.cache import cache_folder
from rocket_columnar.fast.choice import SETTINGS, settings_in_the_way, tell

if settings_in_the_way():  # Numba would read them when it is imported
    raise UsageError(f"{SETTINGS}: in the working folder, found settings for Numba, expected none")

from collections.abc import Callable

import numba

_Function = TypeVar("_Function", bound="Callable[..., Any]")

_setting: Final = Lock()

long: Any = np.int64
"""A wide local of a compiled loop; its place in Python's types does not matter."""


def jit(function: _Function) -> _Function:
    """A compiled loop, cached on disk, free of the interpreter lock, with the type as it was."""
    folder = cache_folder()
    if folder is None:
        tell(
            "compiling loops for large files, at each start: there is no cache folder that is the user's alone"
        )
        return cast("_Function", numba.njit(nogil=True)(function))
    module = folder / function.__module__.rpartition(".")[2]
    if not any(path.is_file() for path in module.rglob("*")):
        tell("compiling loops for large files; the compiled code is cached for later starts")
    config: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]  # documented, but not in its `__all__`
    with _setting:  # which is the user's for the user's own functions
        before, config.CACHE_DIR = config.CACHE_DIR, str(module)
        try:
            return cast("_Function", numba.njit(nogil=True, cache=True)(function))
        finally:
            config.CACHE_DIR = before


def inlined(function: _Function) -> _Function:
    """The same for a part of such loops, put into each place that calls it: a call hands over whole arrays."""
    return cast("_Function", numba.njit(nogil=True, forceinline=True)(function))
