"""Files and directories of a store that cannot be read: they are left out, and the rest is done."""

import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from rocket_spec.errors import UsageError

_P = ParamSpec("_P")
_T = TypeVar("_T")

_left_out: Final[ContextVar[Mapping[str, str] | None]] = ContextVar("left_out", default=None)


class Unreadable(str):
    """Why a part of a store cannot be read; a listing reports any other reason as plain text."""

    __slots__ = ()


def reason_left_out(path: os.PathLike[str] | str) -> Unreadable | None:
    """Why a file or directory is left out of a listing, or None."""
    failed = _left_out.get()
    if failed is None:
        return None
    name = os.fspath(path)
    if name in failed:
        return Unreadable(failed[name])
    return None if os.access(name, os.R_OK) or not os.path.lexists(name) else Unreadable("permission denied")


def leaves_out_unreadable(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that runs as with `despite_unreadable`."""

    @wraps(work)
    def run(*args: _P.args, **options: _P.kwargs) -> _T:
        return despite_unreadable(lambda: work(*args, **options))

    return run


def despite_unreadable(work: Callable[[], _T]) -> _T:
    """What `work` returns, which lists files and reads them; called again without those that cannot be read.

    The listing reports them with an `Unreadable` reason.

    Raises:
        OSError: of a path that the listing cannot leave out, or without which nothing is left.
    """
    failed: dict[str, str] = {}
    last: OSError | None = None
    before = _left_out.set(None)
    try:
        while True:
            try:
                return work()
            except FileNotFoundError:
                raise
            except UsageError:
                if last is None:
                    raise
                raise last from None
            except OSError as error:
                last, name = error, error.filename
                if not isinstance(name, str) or name in failed or not error.strerror:
                    raise
                failed[name] = error.strerror.lower()
                _left_out.set(failed)
    finally:
        _left_out.reset(before)
