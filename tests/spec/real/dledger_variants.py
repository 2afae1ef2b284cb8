"""Variants of the golden store `dledger`, each with one damage, for the real recovery of DLedger mode."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rocket_golden

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


def _set(**values: int) -> Callable[[Path], None]:
    """Fields of the hit entry set to these values."""

    def damage(store: Path) -> None:
        path = store / hit()["file"]
        data = bytearray(path.read_bytes())
        for name, value in values.items():
            at, form = FIELDS[name]
            struct.pack_into(form, data, hit()["pos"] - int(path.name) + at, value)
        path.write_bytes(data)

    return damage


def _total_size(more: int) -> Callable[[Path], None]:
    """Another total size of the record in the hit entry."""
    return lambda store: _change(store, 48, ">i", more)


def _field(name: str, change: int) -> Callable[[Path], None]:
    return lambda store: _change(store, *FIELDS[name], change)


def _files(store: Path) -> list[Path]:
    return sorted(store.glob("dledger-n0/data/*"))


def _without_blank(store: Path) -> None:
    """The last entry of the third file from the end goes on to the end of its file."""
    path = _files(store)[-3]
    data = bytearray(path.read_bytes())
    place = [entry["pos"] for entry in entries() if entry["file"].endswith(path.name)][-1] - int(path.name)
    struct.pack_into(">i", data, place + 4, SIZE - place)
    struct.pack_into(">i", data, place + 44, SIZE - place - 48)
    path.write_bytes(data)


def _shorter(store: Path) -> None:
    last = _files(store)[-1]
    last.write_bytes(last.read_bytes()[:-1])


def _without_entry_index(store: Path) -> None:
    (store / "dledger-n0/index/00000000000000000000").unlink()


def _without_log(store: Path) -> None:
    for path in _files(store):
        path.unlink()


INDEX_FILE = "dledger-n0/index/00000000000000000000"
"""The only file of the index of entries."""
INDEX_SIZE = 167_772_160
"""Its length in bytes; all but its first pages are a hole."""


def first_of(number: int) -> dict[str, Any]:
    """The first entry of a data file, by the file's number."""
    files = sorted({entry["file"] for entry in entries()})
    return next(entry for entry in entries() if entry["file"] == files[number])


def _unit(store: Path, entry: dict[str, Any]) -> None:
    """Another size in an entry's unit of the index."""
    with (store / INDEX_FILE).open("r+b") as file:
        file.seek(32 * entry["index"] + 12)
        file.write(b"\0\0\0\1")


def _units(store: Path, *numbers: int) -> None:
    for number in numbers:
        _unit(store, first_of(number))


def _another_index_file(store: Path, start: int, size: int = INDEX_SIZE, form: str = "020") -> None:
    with (store / f"dledger-n0/index/{start:{form}}").open("wb") as file:
        file.truncate(size)


def _twin(store: Path, name: str) -> None:
    """A copy of the first data file under another name."""
    (store / "dledger-n0/data" / name).write_bytes(_files(store)[0].read_bytes())


def _renamed(store: Path, name: str) -> None:
    (store / INDEX_FILE).rename(store / INDEX_FILE.replace(f"{0:020}", name))


def _index_size(store: Path, change: int) -> None:
    with (store / INDEX_FILE).open("r+b") as file:
        file.truncate(INDEX_SIZE + change)


def _stray(store: Path, folder: str, size: int) -> None:
    (store / "dledger-n0" / folder / "notes").write_bytes(bytes(size))


def _without_queues(store: Path) -> None:
    shutil.rmtree(store / "consumequeue")


def _without_first_files(store: Path) -> None:
    for path in _files(store)[:3]:
        path.unlink()
    _without_entry_index(store)


def _first_start(store: Path) -> None:
    """A plain log whose only record claims 2147483647 bytes, and no log of DLedger's yet."""
    _without_log(store)
    (store / "commitlog").mkdir(exist_ok=True)
    (store / f"commitlog/{0:020}").write_bytes(struct.pack(">iI", 0x7FFFFFFF, 0xDAA320A7).ljust(SIZE, b"\0"))


def _number(store: Path, change: int) -> None:
    """Another number in the first entry of the first file."""
    path = _files(store)[0]
    data = bytearray(path.read_bytes())
    struct.pack_into(">q", data, 8, change)
    path.write_bytes(data)


def _checkpoint(store: Path, text: str) -> None:
    (store / "dledger-n0/checkpoint").write_text(text, "ascii")


def _both(*damages: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(store: Path) -> None:
        for one in damages:
            one(store)

    return damage


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
    "no blank in the third file from the end": _without_blank,
    "no index of entries": _without_entry_index,
    "no checkpoint of DLedger": lambda store: (store / "dledger-n0/checkpoint").unlink(),
    "no data file": _without_log,
    "unit of the third file from the end": lambda store: _units(store, -3),
    "units of the third and the fourth file from the end": lambda store: _units(store, -3, -4),
    "units of all files' first entries": lambda store: _units(store, *range(len(_files(store)))),
    "unit of the third file from the end, entry of the fifth": _both(
        lambda store: _units(store, -3, -4), lambda store: _first(store, -5)
    ),
    "unit of the hit entry": lambda store: _unit(store, hit()),
    "index of entries a byte short": lambda store: _index_size(store, -1),
    "index of entries a byte long": lambda store: _index_size(store, 1),
    "index of entries with a second file": lambda store: _another_index_file(store, INDEX_SIZE),
    "index of entries with a gap": lambda store: _another_index_file(store, 2 * INDEX_SIZE),
    "index of entries, 0 beside 000": lambda store: _another_index_file(store, 0, form=""),
    "index of entries, 0 in place of 000": lambda store: _renamed(store, "0"),
    "index of entries that begins late": _both(
        lambda store: _another_index_file(store, INDEX_SIZE), _without_entry_index
    ),
    "stray file in index": lambda store: _stray(store, "index", 1),
    "stray file in data": lambda store: _stray(store, "data", 1),
    "stray file of a file's length in data": lambda store: _stray(store, "data", SIZE),
    "data file 0 beside 000": lambda store: _twin(store, "0"),
    "directory in data": lambda store: (store / "dledger-n0/data/notes").mkdir(),
    "first entry of the first file": lambda store: _first(store, 0),
    "number 7 of the first entry of the first file": lambda store: _number(store, 7),
    "number 2^40 of the first entry of the first file": lambda store: _number(store, 1 << 40),
    "committed index that is not a number": lambda store: _checkpoint(
        store, "endIndex=216\ncommittedIndex=abc\n"
    ),
    "committed index 90": lambda store: _checkpoint(store, "endIndex=216\ncommittedIndex=90\n"),
    "committed index beyond the end": lambda store: _checkpoint(store, "endIndex=216\ncommittedIndex=999\n"),
    "size 0 and body size -48": _set(size=0, body_size=-48),
    "size 44 and body size -4": _set(size=44, body_size=-4),
    "size 45 and body size -3": _set(size=45, body_size=-3),
    "no queues": _without_queues,
    "no queues, total size of a record +48": _both(_without_queues, _total_size(48)),
    "no queues, total size of a record +5000": _both(_without_queues, _total_size(5000)),
    "no index of entries, no first files": _without_first_files,
    "first start over a record of a huge size": _first_start,
    "puts by a leader": lambda _: None,
    "puts by a leader, one of about a file's length": lambda _: None,
    "puts by a leader, one of a file's length": lambda _: None,
    "committed index -1": lambda store: _checkpoint(store, "endIndex=216\ncommittedIndex=-1\n"),
}


PUTS: dict[str, tuple[int, ...]] = {
    "puts by a leader": (1, SIZE, 1, 1),
    "puts by a leader, one of about a file's length": (1, 8018, 1, 1),
    "puts by a leader, one of a file's length": (1, 8023, 1, 1),
}
"""Lengths of the bodies that are put after the start, by variant."""


def _first(store: Path, number: int) -> None:
    """Another magic in the first entry of a file."""
    path = _files(store)[number]
    path.write_bytes(b"\0\0\0\7" + path.read_bytes()[4:])
