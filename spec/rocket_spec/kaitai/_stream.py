"""The two names of the Kaitai runtime that users of the readers need, with types."""

from importlib import import_module
from io import BytesIO
from typing import Any, BinaryIO, Final, cast

_runtime: Final[Any] = import_module("kaitaistruct")

ValidationFailedError: Final = cast("type[Exception]", _runtime.ValidationFailedError)
"""Raised where bytes break a `valid` of the .ksy."""


def stream(source: bytes | bytearray | memoryview | BinaryIO) -> object:
    """A Kaitai stream over bytes or a seekable binary file, for a reader's constructor.

    Bytes are copied, a file is read as the reader goes and stays the caller's to close.
    """
    opened = BytesIO(source) if isinstance(source, bytes | bytearray | memoryview) else source
    return cast("object", _runtime.KaitaiStream(opened))
