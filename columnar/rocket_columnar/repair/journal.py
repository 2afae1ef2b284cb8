"""The journal of a repair: what it moved, to take it back. It is in the store: a stranger may have written it.

It only names places in the store. Where the file of a place is kept, or comes from, follows from the name of the repair's folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Final

from rocket_spec.errors import MalformedError

JOURNAL_BYTES: Final = 16 << 20
"""Length of a journal at most: that of a repair of some 100,000 files."""

_DEPTH: Final = 3
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BRACKET: Final = re.compile(rb"[][{}]")
_NUMBER: Final = {"type": "integer", "minimum": -(1 << 63), "maximum": (1 << 63) - 1}
_PART: Final = r"[^/\u0000]+"
_QUEUE_FILE: Final = rf"consumequeue/{_PART}/{_PART}/{_PART}"
_MADE: Final = rf"^(index/{_PART}|{_QUEUE_FILE}|config/(topics|consumerOffset)\.json)\Z"
_MOVED: Final = rf"^((index|commitlog|consumequeue(_ext)?(/{_PART}){{0,2}}|dledger-{_PART}/data)/{_PART}|checkpoint|config/(topics|consumerOffset)\.json)\Z"
_NEW_FOLDER: Final = rf"^(index|config|consumequeue(/{_PART}){{0,2}})\Z"

SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "rocketspec_repair": {"const": 2},
        "away": {"type": "array", "items": {"type": "string", "pattern": _MOVED}},
        "into": {
            "type": "object",
            "propertyNames": {"pattern": _MADE},
            "additionalProperties": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
        },
        "made": {"type": "array", "items": {"type": "string", "pattern": _NEW_FOLDER}},
        "newest": _NUMBER,
    },
    "required": ["rocketspec_repair", "away", "into", "made", "newest"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Journal:
    """The moves of a repair; places are files relative to the store.

    Attributes:
        away: places whose files are moved into `old/` of the repair's folder.
        into: places that get files from `new/`, each with the size and the time of change (ns) of its new file.
        made: folders of the store that the repair makes, each after the one that it is in.
        newest: time (ns) of the last change of any file beside these places, before the moves.
    """

    away: tuple[str, ...] = ()
    into: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    made: tuple[str, ...] = ()
    newest: int = 0

    def to_bytes(self) -> bytes:
        """As it is written."""
        return json.dumps({"rocketspec_repair": 2, **asdict(self)}, indent=0).encode() + b"\n"

    def folders(self) -> set[str]:
        """The folders of the places; that of a place in the store itself is empty."""
        return {place.rpartition("/")[0] for place in (*self.away, *self.into)}


def parse_journal(raw: bytes, file: str) -> Journal:
    """The journal that a file has.

    Args:
        raw: its bytes, at most one more than `JOURNAL_BYTES`.
        file: for messages.

    Raises:
        MalformedError: it is none; nothing of it may be carried out.
    """

    def refused(found: object) -> MalformedError:
        return MalformedError(file=file, found=found, expected="the journal of a repair")

    if len(raw) > JOURNAL_BYTES:
        raise refused(f"more than {JOURNAL_BYTES:,} bytes")
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", raw)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > _DEPTH:
            raise refused(f"more than {_DEPTH} brackets inside one another")
    try:
        row = json.loads(raw.decode(), parse_int=_integer, parse_float=_no_number, parse_constant=_no_number)
    except ValueError as error:  # of UnicodeDecodeError too
        raise refused(f"no JSON ({str(error)[:80]})") from None
    wrong = next(iter(_validator().iter_errors(row)), None)
    if wrong is not None:
        raise refused(f"{wrong.json_path:.80}: {wrong.message:.120}")
    away, into, made = dict.fromkeys(row["away"]), row["into"], dict.fromkeys(row["made"])
    for place in (*away, *into, *made):
        if not _is_plain(place):
            raise refused(f"the path {place[:120]!r}")
    seen = {name: (size, time) for name, (size, time) in into.items()}
    return Journal(tuple(away), seen, tuple(made), row["newest"])


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= 20 else _no_number(digits)


def _no_number(text: str) -> int:
    raise ValueError(f"the number {text[:24]}")


def can_move(place: str) -> bool:
    """Whether a journal may name a place whose file is moved away."""
    return re.search(_MOVED, place) is not None and _is_plain(place)


def _is_plain(place: str) -> bool:
    """Whether each part of a path is the name of a file."""
    try:
        os.fsencode(place)
    except UnicodeEncodeError:
        return False
    return not {"", ".", ".."} & set(place.split("/"))


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(SCHEMA)
