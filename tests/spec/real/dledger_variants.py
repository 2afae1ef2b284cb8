"""Variants of the golden store `dledger`, each with one damage, for the real recovery of DLedger mode."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import rocket_golden

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["FIELDS", "SIZE", "VARIANTS", "entries", "hit"]

SIZE = 8192
"""Bytes of a log file of the store."""

FIELDS = {
    "magic": (0, ">i"),
    "size": (4, ">i"),
    "index": (8, ">q"),
    "term": (16, ">q"),
    "pos": (24, ">q"),
    "body_size": (44, ">i"),
}


def entries() -> list[dict[str, Any]]:
    """The entries of the store, as Java read them."""
    return [line for line in rocket_golden.truth("dledger") if line["type"] == "log_entry"]


def hit() -> dict[str, Any]:
    """The entry that is damaged: the eighth of the file before the last."""
    files = sorted({entry["file"] for entry in entries()})
    return [entry for entry in entries() if entry["file"] == files[-2]][7]


def _change(store: Path, at: int, form: str, change: int) -> None:
    path = store / hit()["file"]
    data = bytearray(path.read_bytes())
    place = hit()["pos"] - int(path.name) + at
    (value,) = struct.unpack_from(form, data, place)
    struct.pack_into(form, data, place, value + change)
    path.write_bytes(data)


def _field(name: str, change: int) -> Callable[[Path], None]:
    return lambda store: _change(store, *FIELDS[name], change)


def _files(store: Path) -> list[Path]:
    return sorted(store.glob("dledger-n0/data/*"))


def _shorter(store: Path) -> None:
    last = _files(store)[-1]
    last.write_bytes(last.read_bytes()[:-1])


def _without_entry_index(store: Path) -> None:
    (store / "dledger-n0/index/00000000000000000000").unlink()


def _without_log(store: Path) -> None:
    for path in _files(store):
        path.unlink()


VARIANTS: dict[str, Callable[[Path], None]] = {
    "whole": lambda _: None,
    **{f"{name}{change:+}": _field(name, change) for name in FIELDS for change in (7, -7)},
    "magic of a blank": lambda store: _change(store, 0, ">i", -2),
    "body of a record": lambda store: _change(store, 48 + 4, ">i", 1),
    "first entry of the third file from the end": lambda store: _first(store, -3),
    "first entry of the last file": lambda store: _first(store, -1),
    "a file in the middle is missing": lambda store: _files(store)[2].unlink(),
    "the last file is missing": lambda store: _files(store)[-1].unlink(),
    "the last file is a byte short": _shorter,
    "no index of entries": _without_entry_index,
    "no checkpoint of DLedger": lambda store: (store / "dledger-n0/checkpoint").unlink(),
    "no data file": _without_log,
}


def _first(store: Path, number: int) -> None:
    """Another magic in the first entry of a file."""
    path = _files(store)[number]
    path.write_bytes(b"\0\0\0\7" + path.read_bytes()[4:])
