"""Reads the files that a user names: regular ones only, and no more of them than a limit."""

import os
import stat
from pathlib import Path
from typing import Final

from rocket_spec.errors import MalformedError

_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A FIFO without a writer is opened at once, and then refused."""


def read_input(path: Path, *, limit: int, expected: str) -> bytes:
    """The bytes of a file.

    Args:
        path: the file; links are followed.
        limit: greatest length, bytes.
        expected: what the file should be, for errors.

    Raises:
        MalformedError: when it is not a regular file, or longer than the limit.
        OSError: when it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        found = "a directory" if stat.S_ISDIR(about.st_mode) else "not a regular file"
        raise MalformedError(file=str(path), found=found, expected=expected)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        size = min(about.st_size, limit)
        data = file.read(size + 1)  # room for this much is taken at once
    if len(data) > limit or about.st_size > limit:
        raise MalformedError(
            file=str(path),
            found=f"{about.st_size:,} bytes",
            expected=f"{expected} of at most {limit:,} bytes",
        )
    return data
