"""Whole stores, damaged in the fields of their structures.

An input is a store - a small one, or a golden one - and what is done to its files, before a verb reads them or while it does. Each
verb runs with plain and with compiled loops, which must answer the same, and leaves the store as it is.
"""

import os
import shutil
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from fuzz_inputs import (
    GEOMETRY,
    Damage,
    Damaged,
    Fields,
    claims,
    counts,
    fields_of,
    kind_of,
    mutated,
    numbers,
)
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from rocket_columnar import fast
from rocket_columnar.rebuild import rebuild
from rocket_golden import manifest, open_store
from rocket_spec.later_layouts import BATCH_UNIT, TIMER_SLOT, TIMER_UNIT
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, blank, checkpoint, contents, ext_unit, put, record

_GOLDEN: Final = ("small-roll", "mixed", "dledger")
_FILE: Final = 2048
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


class Subject(NamedTuple):
    """What a verb is run on: a store, an empty folder for what it writes, the geometry if it must be given, and the damaged files."""

    root: Path
    scratch: Path
    geometry: Geometry | None
    damaged: Sequence[Path]


Verb = Callable[[Subject], Hashable]


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
    """Small stores: a sound one, one that a broker left while it ran, one with ext files, and one with files of 5.x."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "store", Path(folder) / "out"
        write(root, _log())
        rebuild(root, out, geometry=GEOMETRY, queue_file_size=100)
        made = contents(out)
    sound = _log() | {name: data for name, data in made.items() if not name.startswith("_")}
    sound |= CONFIG | {"checkpoint": checkpoint(BEGIN + 20_000, BEGIN + 20_000, BEGIN + 9_000)}
    units = ext_unit(1, BEGIN, b"abc") + ext_unit(3, BEGIN, b"") + b"\xff\xff"
    ext = {f"consumequeue_ext/T/0/{0:020}": units.ljust(200, b"\0")}
    wheel = struct.pack(TIMER_SLOT.struct_format, BEGIN // 1000, 0, 0, 1, 0)
    later = {
        f"batchconsumequeue/B/0/{0:020}": struct.pack(
            BATCH_UNIT.struct_format, 0, 227, 7, BEGIN, 0, 2, -1, 0
        ).ljust(460, b"\0"),
        "timerwheel": wheel.ljust(50 * len(wheel), b"\0"),
        f"timerlog/{0:020}": struct.pack(
            TIMER_UNIT.struct_format, 52, -1, 1, BEGIN, 1000, 0, 227, 0, 0
        ).ljust(520, b"\0"),
    }
    return {
        "small": sound, "small, running": sound | {"abort": b""}, "small, with ext files": sound | ext, "small, of 5.x": sound | later,
    }  # fmt: skip


def write(root: Path, files: dict[str, bytes]) -> None:
    """Writes a store's files."""
    for name, data in files.items():
        put(root, name, data)


_HEAD: Final = 1 << 16


@cache
def _files(store: str) -> dict[str, tuple[int, Fields]]:
    """Names and sizes of a store's files, and the numbers near the beginning of each."""
    if store in small():
        return {name: (len(data), fields_of(name, data, GEOMETRY)) for name, data in small()[store].items()}
    geometry, found = Geometry(*manifest().stores[store].geometry), {}
    with tempfile.TemporaryDirectory() as folder:
        root = open_store(store, Path(folder))
        for path in (path for path in root.rglob("*") if path.is_file()):
            name = path.relative_to(root).as_posix()
            with path.open("rb") as file:
                found[name] = path.stat().st_size, fields_of(name, file.read(_HEAD), geometry)
    return found


def _made(name: str, directory: Path) -> Path:
    """A store, in a new folder."""
    if name not in small():
        return open_store(name, directory)
    write(directory / "store", small()[name])
    return directory / "store"


def _strike(root: Path, damage: Damage) -> None:
    action, name, at, data = damage
    path = root / name
    if not path.is_file():
        return
    if action in ("delete", "fifo"):
        path.unlink()
        if action == "fifo":
            os.mkfifo(path)
    elif action == "truncate":
        os.truncate(path, at)
    elif action == "copy":
        source = root / data
        if data != name and source.is_file() and source.stat().st_size < 1 << 22:
            shutil.copyfile(source, path)
    elif action == "rename":
        path.rename(root / data)
    elif action == "put":
        path.write_bytes(bytes.fromhex(data))
    else:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes.fromhex(data))


@st.composite
def _claim(draw: DrawFn, store: str, kind: str) -> Damage:
    """Too large a number in a file of a kind."""
    known = _files(store).items()
    files = {name: fields for name, (_, fields) in known if kind_of(name) == kind and counts(fields)}
    name = draw(st.sampled_from(sorted(files)))
    place, width = draw(st.sampled_from(files[name][draw(st.sampled_from(counts(files[name])))]))
    return Damage("write", name, place, draw(claims(width)).hex())


@st.composite
def _damage(draw: DrawFn, store: str) -> Damage:
    names = sorted(_files(store))
    name = draw(st.sampled_from(names))
    size, fields = _files(store)[name]
    kinds = ("number", "content", "magic", "bytes", "truncate", "delete", "fifo", "copy", "rename")
    kind = draw(st.sampled_from(kinds))
    if kind == "number":
        place, width = draw(st.sampled_from(fields[draw(st.sampled_from([*fields]))])) if fields else (0, 8)
        return Damage("write", name, place, draw(numbers(width, size, size - place)).hex())
    if kind == "content" and store in small():
        data = draw(mutated((small()[store][name],), name))
        fits = name.startswith(("commitlog", "index")) and draw(st.booleans())
        return Damage("put", name, 0, (data[:size].ljust(size, b"\0") if fits else data).hex())
    if kind == "magic":
        magic = draw(st.sampled_from((b"\xda\xa3\x20\xa7", b"\xcb\xd4\x31\x94", b"\xff" * 4, bytes(4))))
        at = draw(st.integers(0, size) | st.sampled_from(_FAR))
        return Damage("write", name, at, (magic * draw(st.sampled_from((1, 2, 500)))).hex())
    if kind == "truncate":
        return Damage("truncate", name, draw(st.integers(0, size + 1) | st.sampled_from(_FAR)))
    if kind in ("delete", "fifo"):
        return Damage(kind, name)
    if kind == "copy":
        return Damage("copy", name, 0, draw(st.sampled_from(names)))
    if kind == "rename":
        folder, _, last = name.rpartition("/")
        numbered = [f"{number:020}" for number in (_FILE * 7, 100, 1 << 63)]
        other = draw(st.sampled_from((f"{last}0", f"x{last}", f"-{last}", f"\n{last}", *numbered)))
        return Damage("rename", name, 0, f"{folder}/{other}" if folder else other)
    return Damage("write", name, draw(st.integers(0, size)), draw(st.binary(min_size=1, max_size=300)).hex())


@st.composite
def damaged_stores(draw: DrawFn) -> Damaged:
    """A store with one to four damages, or with a count that promises too much in one file of each kind, or of one kind alone."""
    store = draw(st.sampled_from((*small(), *small(), *_GOLDEN)))
    if draw(st.booleans()):
        kinds = sorted({kind_of(name) for name, (_, fields) in _files(store).items() if counts(fields)})
        chosen = kinds if draw(st.booleans()) else [draw(st.sampled_from(kinds))]
        return Damaged(store, [draw(_claim(store, kind)) for kind in chosen])
    return Damaged(store, draw(st.lists(_damage(store), min_size=1, max_size=4)))


def _held(root: Path) -> dict[str, Any]:
    """The contents of a folder; of large files their size."""
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {
        name: size if (size := path.stat().st_size) >= 1 << 20 else path.read_bytes()
        for name, path in files.items()
    }


def _subject(value: Damaged, outer: Path) -> Subject:
    """The store of an input, before it is damaged."""
    root = _made(value.store, outer)
    names = dict.fromkeys(damage.file for damage in value.damages)
    return Subject(
        root, outer / "scratch", GEOMETRY if value.store in small() else None, [root / name for name in names]
    )


def check(value: Damaged, folder: Path, *, run: Verb) -> None:
    """Runs a verb on a damaged store; AssertionError if the store is changed, something is beside it, or the two forms differ."""
    subject, found = _subject(value, folder / "outer"), []
    for damage in value.damages:
        _strike(subject.root, damage)
    before = _held(subject.root)
    for compiled in (False, True):
        subject.scratch.mkdir()
        with fast.forced(compiled=compiled):
            found.append(run(subject))
        shutil.rmtree(subject.scratch)
        assert _held(subject.root) == before, "the store was changed"
        assert [*subject.root.parent.iterdir()] == [subject.root], "something was written beside it"
    assert found[0] == found[1], found


def change(value: Damaged, folder: Path, *, run: Verb) -> None:
    """Runs a verb on a store while its files are damaged, in two rounds."""
    subject, ended = _subject(value, folder / "outer"), threading.Event()

    def strike() -> None:
        for damage in value.damages * 2:
            time.sleep(0.001)
            if not ended.is_set():
                _strike(subject.root, damage)

    subject.scratch.mkdir()
    striker = threading.Thread(target=strike)
    striker.start()
    try:
        run(subject)
    finally:
        ended.set()
        striker.join()
