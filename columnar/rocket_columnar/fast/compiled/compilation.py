"""Compiles loops with Numba when one is first called, unless the cache has the code."""

import os
import sys
from contextlib import suppress
from typing import Any, TypeVar, cast

import numpy as np
from rocket_spec.errors import UsageError

from rocket_columnar.fast.choice import SETTINGS, cache_folder, report_once, settings_in_the_way

if settings_in_the_way():  # Numba would read them when it is imported
    raise UsageError(f"{SETTINGS}: in the working folder, found settings for Numba, expected none")

if cache_folder() is not None and "numba" not in sys.modules:  # which reads the variable when it is imported
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))

from collections.abc import Callable

import numba

_Function = TypeVar("_Function", bound="Callable[..., Any]")

long: Any = np.int64
"""A wide local of a compiled loop; its place in Python's types does not matter."""


def jit(function: _Function) -> _Function:
    """A compiled loop, cached on disk, free of the interpreter lock, with the type as it was."""
    folder = cache_folder()
    if folder is None:
        report_once(
            "compiling loops for large files, at each start: there is no cache folder that is the user's alone"
        )
        return cast("_Function", numba.njit(nogil=True)(function))
    known = folder / f"{function.__module__.rpartition('.')[2]}.compiled"
    if not known.exists():
        report_once("compiling loops for large files; the compiled code is cached for later starts")
        with suppress(OSError):  # the line is then printed at the next start too
            known.parent.mkdir(exist_ok=True)
            known.touch()
    return cast("_Function", numba.njit(nogil=True, cache=True)(function))


def inlined(function: _Function) -> _Function:
    """Like `jit`, but inlined into its callers, because a Numba call copies array descriptors."""
    return cast("_Function", numba.njit(nogil=True, forceinline=True)(function))
