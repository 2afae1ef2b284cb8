"""Files and directories of a store that cannot be read: they are left out, and the rest is done."""

import errno
import os
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from rocket_spec.errors import UsageError

_OF_THE_PROCESS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors that say nothing about the file that was to be opened."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass
class _Attempts:
    """Outcomes of the attempts at one piece of work.

    Attributes:
        failed: why a path is left out.
        listed: paths that a listing can leave out.
    """

    failed: dict[str, str] = field(default_factory=dict[str, str])
    listed: set[str] = field(default_factory=set[str])


_attempts: Final[ContextVar[_Attempts | None]] = ContextVar("attempts", default=None)


class Unreadable(str):
    """The reason why a part of a store cannot be read; a listing reports any other reason as plain text."""

    __slots__ = ()


def reason_left_out(path: os.PathLike[str] | str) -> Unreadable | None:
    """The reason why a file or directory is left out of a listing, or None."""
    attempts = _attempts.get()
    if attempts is None:
        return None
    name = os.fspath(path)
    attempts.listed.add(name)
    if not attempts.failed:
        return None
    if name in attempts.failed:
        return Unreadable(attempts.failed[name])
    if os.access(name, os.R_OK) or not os.path.lexists(name):
        return None
    try:
        os.stat(name)  # noqa: PTH116 - the path may be a text
    except OSError as error:  # a loop of links
        return Unreadable((error.strerror or str(error)).lower())
    return Unreadable("permission denied")


def leaves_out_unreadable(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that runs as with `despite_unreadable`."""

    @wraps(work)
    def run(*args: _P.args, **options: _P.kwargs) -> _T:
        return despite_unreadable(lambda: work(*args, **options))

    return run


def despite_unreadable(work: Callable[[], _T]) -> _T:
    """The result of `work`, which lists files and reads them; called again without those that cannot be read.

    The listing reports them with an `Unreadable` reason. Each path causes at most one further call.

    Raises:
        OSError: of a path that the listing did not offer, such as one of the output; of the process, which has too
            many files open; of a path without which nothing is left.
    """
    attempts = _Attempts()
    last: OSError | None = None
    before = _attempts.set(attempts)
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
                if (
                    name not in attempts.listed - attempts.failed.keys()
                    or error.errno in _OF_THE_PROCESS
                    or not error.strerror
                ):
                    raise
                attempts.failed[name] = error.strerror.lower()
    finally:
        _attempts.reset(before)
