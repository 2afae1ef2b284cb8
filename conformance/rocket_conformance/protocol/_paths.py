"""Names of files that travel: relative to the case's directory, and inside it on every system."""

from typing import Final

_MOST_PARTS: Final = 16
_LONGEST_PART: Final = 255

_FORBIDDEN: Final = frozenset('\\:*?"<>')
"""Separators and drive letters of Windows, and what its file names cannot hold."""


def check_path(value: object) -> str:
    r"""The value, when it is a relative path that stays inside the directory it is joined to.

    Parts are separated by `/`; none is empty, `.` or `..`, none holds a character of `\\:*?"<>` or one that cannot be
    printed; at most 16 parts of at most 255 bytes.

    Raises:
        ValueError: when it is anything else.
    """
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is not a path")  # noqa: TRY004 - one error for one wrong value
    parts = value.split("/")
    if len(parts) > _MOST_PARTS:
        raise ValueError(f"{value!r:.80} has {len(parts)} parts; at most {_MOST_PARTS} are allowed")
    for part in parts:
        _check_part(part, value)
    return value


def check_folder(value: object) -> str:
    """The value, when it is the name of one folder: a path of one part.

    Raises:
        ValueError: when it is anything else.
    """
    if isinstance(value, str) and "/" in value:
        raise ValueError(f"{value!r:.80} is not the name of one folder")
    return check_path(value)


def _check_part(part: str, value: str) -> None:
    if part in {"", ".", ".."}:
        raise ValueError(f"{value!r:.80} is not a path inside the case's directory")
    if not part.isprintable() or not _FORBIDDEN.isdisjoint(part):
        raise ValueError(f"{value!r:.80} holds a character that file names must not hold")
    if len(part.encode("utf-8")) > _LONGEST_PART:
        raise ValueError(f"{value!r:.80} has a part longer than {_LONGEST_PART} bytes")
