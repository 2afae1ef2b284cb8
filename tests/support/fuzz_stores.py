"""Whole stores, damaged in the fields of their structures.

An input is a store - a small one, or a golden one - and what is done to its files, before a verb reads them or while it does. Each
verb runs with plain and with compiled loops, which must answer the same, and leaves the store as it is.
"""

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from fuzz_inputs import mutated, numbers
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from rocket_columnar import fast
from rocket_columnar.rebuild import rebuild
from rocket_golden import manifest, open_store
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import CHECKPOINT, ENTRY, EXT_UNIT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, Geometry
from store_bytes import BEGIN, blank, checkpoint, contents, ext_unit, put, record

Verb = Callable[[Path, Path, Geometry | None], Hashable]

CORPUS: Final = Path(__file__).parents[1] / "fuzz" / "corpus"
ERRORS: Final = (FormatError, UsageError, OSError)
_GOLDEN: Final = ("small-roll", "mixed", "dledger")
_FILE: Final = 2048
GEOMETRY: Final = Geometry(7, 20)
_FAR: Final = (0, (1 << 20) - 20, 1 << 23, 1 << 30, 1 << 40)
_TOPICS: Final = (b"T", b"SCHEDULE_TOPIC_XXXX", b"%RETRY%g", b"U")

CONFIG: Final = {
    "config/consumerOffset.json": b'{\n\t"offsetTable":{"T@g":{0:3},"%RETRY%g@g":{0:9},"U@g":{0:1,1:0}}\n}',
    "config/delayOffset.json": b'{\n\t"offsetTable":{1:2,3:1,18:99}\n}',
    "config/topics.json": b'{"dataVersion":{"counter":1,"timestamp":7},"topicConfigTable":{"T":{"order":false,"perm":6,"readQueueNums":1,'
    b'"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":1}}}',
    "config/subscriptionGroup.json": b'{"dataVersion":{"counter":1},"subscriptionGroupTable":{"g":{"brokerId":0,"consumeEnable":true,'
    b'"groupName":"g","retryMaxTimes":16,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}}}',
}
"""What the broker of the small stores keeps beside them, in its own form of JSON."""


class Damage(NamedTuple):
    """One change to one file of a store.

    Attributes:
        action: "write" bytes at a place, "truncate" to a length (longer files end in a hole), "put" the whole content, "delete",
            "copy" the file that `data` names over it, or "rename" it to `data`.
        file: relative to the store.
        at: byte, or the new length.
        data: hexadecimal, or a name.
    """

    action: str
    file: str
    at: int = 0
    data: str = ""


def packed(store: str, damages: Iterable[Damage]) -> bytes:
    """An input as the corpus has it: the name of a store, and what is done to it."""
    return json.dumps({"store": store, "damages": [*damages]}).encode()


def unpacked(data: bytes) -> tuple[str, list[Damage]]:
    """The input that bytes of the corpus hold."""
    value = json.loads(data)
    return value["store"], [Damage(*damage) for damage in value["damages"]]


def _log() -> dict[str, bytes]:
    """A log of three files, the last of which is not full."""
    files: dict[str, bytes] = {}
    base, data = 0, b""
    for number in range(24):
        one = record(
            base + len(data), topic=_TOPICS[number % 4], queue_offset=number // 4, store_timestamp=BEGIN + 700 * number,
            body=b"b" * (number * 13 % 90), sys_flag=(0, 0, 8, 4)[number // 4 % 4],
            properties=f"KEYS\1k{number} k\2UNIQ_KEY\1U{number:031}\2TAGS\1t{number % 3}\2DELAY\1{number % 5}".encode(),
        )  # fmt: skip
        if len(data) + len(one) + 8 > _FILE:
            files[f"commitlog/{base:020}"] = data + blank(_FILE - len(data))
            base, data = base + _FILE, b""
            continue
        data += one
    files[f"commitlog/{base:020}"] = data.ljust(_FILE, b"\0")
    return files


@cache
def small() -> dict[str, dict[str, bytes]]:
    """Three small stores: a sound one, one that a broker left while it ran, and one with ext files."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "store", Path(folder) / "out"
        write(root, _log())
        rebuild(root, out, geometry=GEOMETRY, queue_file_size=100)
        made = contents(out)
    sound = _log() | {name: data for name, data in made.items() if not name.startswith("_")}
    sound |= CONFIG | {"checkpoint": checkpoint(BEGIN + 20_000, BEGIN + 20_000, BEGIN + 9_000)}
    units = ext_unit(1, BEGIN, b"abc") + ext_unit(3, BEGIN, b"") + b"\xff\xff"
    ext = {f"consumequeue_ext/T/0/{0:020}": units.ljust(200, b"\0")}
    return {"small": sound, "small, running": sound | {"abort": b""}, "small, with ext files": sound | ext}


def write(root: Path, files: dict[str, bytes]) -> None:
    """Writes a store's files."""
    for name, data in files.items():
        put(root, name, data)


@cache
def _files(store: str) -> dict[str, int]:
    """Names and sizes of a store's files."""
    if store in small():
        return {name: len(data) for name, data in small()[store].items()}
    with tempfile.TemporaryDirectory() as folder:
        root = open_store(store, Path(folder))
        files = (path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): path.stat().st_size for path in files}


def _made(name: str, directory: Path) -> Path:
    """A store, in a new folder."""
    if name not in small():
        return open_store(name, directory)
    write(directory / "store", small()[name])
    return directory / "store"


def _strike(root: Path, damage: Damage) -> None:
    action, name, at, data = damage
    path = root / name
    if not path.exists():
        return
    if action == "delete":
        path.unlink()
    elif action == "truncate":
        os.truncate(path, at)
    elif action == "copy":
        source = root / data
        if data != name and source.exists() and source.stat().st_size < 1 << 22:
            shutil.copyfile(source, path)
    elif action == "rename":
        path.rename(root / data)
    elif action == "put":
        path.write_bytes(bytes.fromhex(data))
    else:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes.fromhex(data))


@cache
def _fields(name: str, geometry: Geometry) -> tuple[tuple[int, int], ...]:
    """Places and widths of numbers in a file."""
    if "commitlog" in name:
        return tuple(
            (start + at, width)
            for start in (0, 227, 454)
            for at, width in ((0, 4), (4, 4), (28, 8), (36, 4), (84, 4))
        )
    kinds = {"index": ((INDEX_HEADER, 0), (INDEX_ENTRY, geometry.entries_offset + 20)), "consumequeue": ((QUEUE_UNIT, 0),),
             "consumequeue_ext": ((EXT_UNIT, 0),), "checkpoint": ((CHECKPOINT, 0),), "dledger-n0": ((ENTRY, 0),)}  # fmt: skip
    return tuple(
        (begin + step + (field.offset or 0), field.size)
        for layout, begin in kinds.get(name.partition("/")[0], ())
        for step in ((0, 20, 60) if layout in (INDEX_ENTRY, QUEUE_UNIT) else (0,))
        for field in layout.fields
        if field.size in (1, 2, 4, 8)
    )


@st.composite
def _damage(draw: DrawFn, store: str) -> Damage:
    names = sorted(_files(store))
    name = draw(st.sampled_from(names))
    geometry = GEOMETRY if store in small() else Geometry(*manifest().stores[store].geometry)
    size, fields = _files(store)[name], _fields(name, geometry) or ((0, 8),)
    kind = draw(
        st.sampled_from(("number", "content", "magic", "bytes", "truncate", "delete", "copy", "rename"))
    )
    if kind == "number":
        place, width = draw(st.sampled_from(fields))
        return Damage("write", name, place, draw(numbers(width, size, size - place)).hex())
    if kind == "content" and store in small():
        data = draw(mutated((small()[store][name],), fields))
        fits = name.startswith(("commitlog", "index")) and draw(st.booleans())
        return Damage("put", name, 0, (data[:size].ljust(size, b"\0") if fits else data).hex())
    if kind == "magic":
        magic = draw(st.sampled_from((b"\xda\xa3\x20\xa7", b"\xcb\xd4\x31\x94", b"\xff" * 4, bytes(4))))
        at = draw(st.integers(0, size) | st.sampled_from(_FAR))
        return Damage("write", name, at, (magic * draw(st.sampled_from((1, 2, 500)))).hex())
    if kind == "truncate":
        return Damage("truncate", name, draw(st.integers(0, size + 1) | st.sampled_from(_FAR)))
    if kind == "delete":
        return Damage("delete", name)
    if kind == "copy":
        return Damage("copy", name, 0, draw(st.sampled_from(names)))
    if kind == "rename":
        folder, _, last = name.rpartition("/")
        others = (
            f"{last}0",
            f"x{last}",
            f"{_FILE * 7:020}",
            f"{100:020}",
            f"-{last}",
            f"{1 << 63:020}",
            f"\n{last}",
        )
        other = draw(st.sampled_from(others))
        return Damage("rename", name, 0, f"{folder}/{other}" if folder else other)
    return Damage("write", name, draw(st.integers(0, size)), draw(st.binary(min_size=1, max_size=300)).hex())


@st.composite
def inputs(draw: DrawFn) -> bytes:
    """A store with one to four damages, packed."""
    store = draw(st.sampled_from((*small(), *small(), *_GOLDEN)))
    return packed(store, draw(st.lists(_damage(store), min_size=1, max_size=4)))


def _held(root: Path) -> dict[str, Any]:
    """The contents of a folder; of large files their size."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        if path.stat().st_size < 1 << 20
        else path.stat().st_size
        for path in root.rglob("*")
        if path.is_file()
    }


def check(data: bytes, folder: Path, *, run: Verb) -> Hashable:
    """Runs a verb on a packed store; AssertionError if the store is changed, something is beside it, or the two forms differ."""
    name, damages = unpacked(data)
    geometry = GEOMETRY if name in small() else None
    outer, found = folder / "outer", []
    try:
        root = _made(name, outer)
        for damage in damages:
            _strike(root, damage)
        before = _held(root)
        for compiled in (False, True):
            scratch = outer / "scratch"
            scratch.mkdir()
            with fast.forced(compiled=compiled):
                try:
                    found.append(run(root, scratch, geometry))
                except ERRORS as error:
                    found.append(f"{type(error).__name__}: {error}")
            shutil.rmtree(scratch)
            assert _held(root) == before, "the store was changed"
            assert [path.name for path in outer.iterdir()] == [root.name], "something was written beside it"
    finally:
        shutil.rmtree(outer)
    assert found[0] == found[1], found
    return found[0]


def change(data: bytes, folder: Path, *, run: Verb) -> None:
    """Runs a verb on a store while its files are damaged, in two rounds."""
    name, damages = unpacked(data)
    geometry = GEOMETRY if name in small() else None
    outer = folder / "outer"
    ended = threading.Event()

    def strike() -> None:
        for damage in damages * 2:
            time.sleep(0.001)
            if not ended.is_set():
                _strike(root, damage)

    try:
        root = _made(name, outer)
        scratch = outer / "scratch"
        scratch.mkdir()
        striker = threading.Thread(target=strike)
        striker.start()
        try:
            run(root, scratch, geometry)
        finally:
            ended.set()
            striker.join()
    finally:
        shutil.rmtree(outer)
