"""Variants of the golden store `dledger`, each with one damage, for the real recovery of DLedger mode."""

import os
import shutil
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import rocket_golden
from store_bytes import overwrite

Damage = Callable[[Path], object]
INDEX_FILE = "dledger-n0/index/00000000000000000000"  # the only file of the index of entries
INDEX_SIZE = 167_772_160  # its length in bytes; all but its first pages are a hole
SIZE = 8192  # bytes of a log file of the store

FIELDS = {
    "magic": (0, ">i"),
    "size": (4, ">i"),
    "index": (8, ">q"),
    "term": (16, ">q"),
    "pos": (24, ">q"),
    "body_size": (44, ">i"),
}


@cache
def entries() -> list[dict[str, Any]]:
    """The entries of the store, as Java read them."""
    return [line for line in rocket_golden.truth("dledger") if line["type"] == "log_entry"]


def entry(number: int, place: int = 0) -> dict[str, Any]:
    """The first entry of a data file, by the file's number, or a later one."""
    files = sorted({entry["file"] for entry in entries()})
    return [entry for entry in entries() if entry["file"] == files[number]][place]


HIT = entry(-2, 7)  # the entry that is damaged: the eighth of the file before the last


def _set(store: Path, at: int, form: str, value: int, hit: dict[str, Any] = HIT) -> None:
    """Another number in an entry."""
    path = store / hit["file"]
    overwrite(path, hit["pos"] - int(path.name) + at, struct.pack(form, value))


def _fields(**values: int) -> Damage:
    """Fields of the hit entry set to these values."""

    def damage(store: Path) -> None:
        for name, value in values.items():
            _set(store, *FIELDS[name], value)

    return damage


def _total_size(more: int) -> Damage:
    """Another total size of the record in the hit entry."""
    return lambda store: _set(store, 48, ">i", HIT["body_size"] + more)


def _files(store: Path) -> list[Path]:
    return sorted(store.glob("dledger-n0/data/*"))


def _magic(store: Path, number: int) -> None:
    """Another magic in the first entry of a file."""
    overwrite(_files(store)[number], 0, b"\0\0\0\7")


def _without_blank(store: Path) -> None:
    """The last entry of the third file from the end goes on to the end of its file."""
    last = entry(-3, -1)
    room = SIZE - last["pos"] % SIZE
    _set(store, *FIELDS["size"], room, last)
    _set(store, *FIELDS["body_size"], room - 48, last)


def _without(*paths: str) -> Damage:
    """Without files and folders."""

    def damage(store: Path) -> None:
        for path in (found for name in paths for found in store.glob(name)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def _units(*hit: dict[str, Any]) -> Damage:
    """Another size in these entries' units of the index."""

    def damage(store: Path) -> None:
        for one in hit:
            overwrite(store / INDEX_FILE, 32 * one["index"] + 12, b"\0\0\0\1")

    return damage


def _made(name: str, size: int) -> Damage:
    """A file of zeros, or a file of another length."""

    def damage(store: Path) -> None:
        (store / "dledger-n0" / name).touch()
        os.truncate(store / "dledger-n0" / name, size)

    return damage


def _first_start(store: Path) -> None:
    """A plain log whose only record claims 2147483647 bytes, and no log of DLedger's yet."""
    _without("dledger-n0/data/*")(store)
    (store / "commitlog").mkdir(exist_ok=True)
    (store / f"commitlog/{0:020}").write_bytes(struct.pack(">iI", 0x7FFFFFFF, 0xDAA320A7).ljust(SIZE, b"\0"))


def _checkpoint(index: str) -> Damage:
    text = f"endIndex=216\ncommittedIndex={index}\n"
    return lambda store: (store / "dledger-n0/checkpoint").write_text(text, "ascii")


def _both(*damages: Damage) -> Damage:
    return lambda store: [damage(store) for damage in damages]


PUTS: dict[str, tuple[int, ...]] = {
    "puts by a leader": (1, SIZE, 1, 1),
    "puts by a leader, one of about a file's length": (1, 8018, 1, 1),
    "puts by a leader, one of a file's length": (1, 8023, 1, 1),
}
"""Lengths of the bodies that are put after the start, by variant."""

VARIANTS: dict[str, Damage] = {
    "whole": lambda _: None,
    **{f"{name}{change:+}": _fields(**{name: HIT[name] + change}) for name in FIELDS for change in (7, -7)},
    "magic of a blank": _fields(magic=-1),
    "body of a record": lambda store: _set(store, 48 + 4, ">I", 0xDAA320A7 + 1),
    "first entry of the third file from the end": lambda store: _magic(store, -3),
    "first entry of the last file": lambda store: _magic(store, -1),
    "a file in the middle is missing": lambda store: _files(store)[2].unlink(),
    "the last file is missing": lambda store: _files(store)[-1].unlink(),
    "the last file is a byte short": lambda store: os.truncate(_files(store)[-1], SIZE - 1),
    "no blank in the third file from the end": _without_blank,
    "no index of entries": _without(INDEX_FILE),
    "no checkpoint of DLedger": _without("dledger-n0/checkpoint"),
    "no data file": _without("dledger-n0/data/*"),
    "unit of the third file from the end": _units(entry(-3)),
    "units of the third and the fourth file from the end": _units(entry(-3), entry(-4)),
    "units of all files' first entries": lambda store: _units(*map(entry, range(len(_files(store)))))(store),
    "unit of the third file from the end, entry of the fifth": _both(
        _units(entry(-3), entry(-4)), lambda store: _magic(store, -5)
    ),
    "unit of the hit entry": _units(HIT),
    "index of entries a byte short": _made(f"index/{0:020}", INDEX_SIZE - 1),
    "index of entries a byte long": _made(f"index/{0:020}", INDEX_SIZE + 1),
    "index of entries with a second file": _made(f"index/{INDEX_SIZE:020}", INDEX_SIZE),
    "index of entries with a gap": _made(f"index/{2 * INDEX_SIZE:020}", INDEX_SIZE),
    "index of entries, 0 beside 000": _made("index/0", INDEX_SIZE),
    "index of entries, 0 in place of 000": lambda store: (store / INDEX_FILE).rename(
        store / "dledger-n0/index/0"
    ),
    "index of entries that begins late": _both(
        _made(f"index/{INDEX_SIZE:020}", INDEX_SIZE), _without(INDEX_FILE)
    ),
    "stray file in index": _made("index/notes", 1),
    "stray file in data": _made("data/notes", 1),
    "stray file of a file's length in data": _made("data/notes", SIZE),
    "data file 0 beside 000": lambda store: shutil.copyfile(_files(store)[0], store / "dledger-n0/data/0"),
    "directory in data": lambda store: (store / "dledger-n0/data/notes").mkdir(),
    "first entry of the first file": lambda store: _magic(store, 0),
    "number 7 of the first entry of the first file": lambda store: _set(store, 8, ">q", 7, entry(0)),
    "number 2^40 of the first entry of the first file": lambda store: _set(store, 8, ">q", 1 << 40, entry(0)),
    "committed index that is not a number": _checkpoint("abc"),
    "committed index 90": _checkpoint("90"),
    "committed index beyond the end": _checkpoint("999"),
    "size 0 and body size -48": _fields(size=0, body_size=-48),
    "size 44 and body size -4": _fields(size=44, body_size=-4),
    "size 45 and body size -3": _fields(size=45, body_size=-3),
    "an entry that is only a header": _fields(size=48, body_size=0),
    "no queues": _without("consumequeue"),
    "no queues, total size of a record +48": _both(_without("consumequeue"), _total_size(48)),
    "no queues, total size of a record +5000": _both(_without("consumequeue"), _total_size(5000)),
    "no index of entries, no first files": _without(
        *(f"dledger-n0/data/{SIZE * number:020}" for number in range(3)), INDEX_FILE
    ),
    "first start over a record of a huge size": _first_start,
    **dict.fromkeys(PUTS, lambda _: None),
    "committed index -1": _checkpoint("-1"),
}
