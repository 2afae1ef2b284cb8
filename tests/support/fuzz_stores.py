"""Whole stores of a few kilobytes, damaged in the fields of their structures, through every verb of the engine and the Spark sources.

An input is a store packed into bytes: which files it has, and what is in them. It is written into a folder of its own, read by
one function, and must be the same bytes afterwards.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fuzz_bytes import Samples
from rocket_columnar.audit import audit
from rocket_columnar.decode import decode
from rocket_columnar.describe import byte_at, diff, digest, look_at, occupancy, summarise
from rocket_columnar.query import query
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import restarts
from rocket_columnar.store import find_files
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import CHECKPOINT, EXT_UNIT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, Geometry
from store_bytes import BEGIN, blank, checkpoint, ext_unit, record

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from rocket_columnar.store import StoreFile

__all__ = ["TARGETS", "StoreTarget"]

_FILE: Final = 2048
_GEOMETRY: Final = Geometry(7, 20)
_FAR: Final = ((1 << 20) - 20, 1 << 30, 1 << 40)
_TOPICS: Final = (b"T", b"SCHEDULE_TOPIC_XXXX", b"%RETRY%g", b"U")


class StoreTarget(NamedTuple):
    """A function of a store.

    Attributes:
        run: takes the store and a folder for output; returns a value that differs between results.
        errors: documented errors.
    """

    run: Callable[[Path, Path], Hashable]
    errors: tuple[type[BaseException], ...] = (FormatError, UsageError, OSError)


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
def _stores() -> tuple[dict[str, bytes], ...]:
    """A sound store, one that a broker left while it ran, and one with ext files."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "store", Path(folder) / "out"
        _write(root, _log())
        rebuild(root, out, geometry=_GEOMETRY, queue_file_size=100)
        made = {
            path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()
        }
    sound = _log() | {name: data for name, data in made.items() if not name.startswith("_")}
    sound["checkpoint"] = checkpoint(BEGIN + 20_000, BEGIN + 20_000, BEGIN + 9_000)
    units = ext_unit(1, BEGIN, b"abc") + ext_unit(3, BEGIN, b"") + b"\xff\xff"
    return (
        sound,
        sound | {"abort": b""},
        sound | {f"consumequeue_ext/T/0/{0:020}": units.ljust(200, b"\0")},
    )


def _samples(name: str) -> Samples:
    """How a file of the store is changed."""
    layouts = {
        "index": [(INDEX_HEADER, 0, 0), (INDEX_ENTRY, _GEOMETRY.entries_offset, 20)],
        "consumequeue": [(QUEUE_UNIT, 0, 20)],
        "consumequeue_ext": [(EXT_UNIT, 0, 0)],
        "checkpoint": [(CHECKPOINT, 0, 0)],
    }.get(name.partition("/")[0], [])
    fields = tuple(
        (begin + step * number + (field.offset or 0), field.size)
        for layout, begin, step in layouts
        for number in range(5 if step else 1)
        for field in layout.fields
        if field.offset is not None and field.size in (1, 2, 4, 8)
    )
    if name.startswith("commitlog"):
        starts = (0, 227, 454)
        fields = tuple(
            (start + place, width)
            for start in starts
            for place, width in ((0, 4), (4, 4), (28, 8), (36, 4), (84, 4))
        )
    whole = tuple(store[name] for store in _stores() if name in store)[:1]
    return Samples(
        whole, fields, 0, (b"\0" * 20, b"\xff" * 8, b"\xda\xa3\x20\xa7", b"\xcb\xd4\x31\x94", b"\2KEYS\1")
    )


@cache
def _changes(name: str) -> Samples:
    return _samples(name)


def make(rng: random.Random) -> bytes:
    """A store with one to four changes, packed."""
    files: dict[str, Any] = {name: data.hex() for name, data in rng.choice(_stores()).items()}
    names = sorted(files)
    for _ in range(rng.getrandbits(2) + 1):
        name = rng.choice(names)
        kind = rng.random()
        if kind < 0.8 and isinstance(files.get(name), str):
            data = _changes(name)._replace(whole=(bytes.fromhex(files[name]),)).mutated(rng)
            fits = name.startswith(("commitlog", "index")) and rng.random() < 0.7
            size = len(files[name]) // 2
            files[name] = (data[:size].ljust(size, b"\0") if fits else data).hex()
        elif kind < 0.86:
            files[name] = files[rng.choice(names)]
        elif kind < 0.91:
            files[name] = None
        elif kind < 0.94:
            files[name] = rng.choice(_FAR)
        else:
            folder, _, last = name.rpartition("/")
            other = rng.choice(
                (
                    last + "0",
                    "x" + last,
                    f"{_FILE * 7:020}",
                    f"{100:020}",
                    "-" + last,
                    last[:-1],
                    f"{1 << 63:020}",
                    "\n" + last,
                )
            )
            files[f"{folder}/{other}" if folder else other] = files[name]
    return json.dumps(files).encode()


def _write(root: Path, files: dict[str, Any]) -> None:
    root.mkdir(parents=True)
    for name, data in files.items():
        if data is None:
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, int):
            with path.open("wb") as file:
                file.truncate(data)
        else:
            path.write_bytes(bytes.fromhex(data) if isinstance(data, str) else data)


def _held(root: Path) -> dict[str, Any]:
    """What is in a folder; of large files their size."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes().hex()
        if path.stat().st_size < 1 << 19
        else path.stat().st_size
        for path in root.rglob("*")
        if path.is_file()
    }


def check(target: StoreTarget, data: bytes, folder: Path) -> Hashable:
    """Runs one function on a packed store; AssertionError if the store or its neighbours are changed."""
    files = {name: content for name, content in json.loads(data).items() if content is not None}
    outer = folder / "outer"
    root, scratch = outer / "store", outer / "scratch"
    try:
        _write(root, files)
        scratch.mkdir()
        try:
            return target.run(root, scratch)
        finally:
            assert _held(root) == files, "the store was changed"
            assert {path.name for path in outer.iterdir()} == {"store", "scratch"}, (
                "something was written beside it"
            )
    finally:
        shutil.rmtree(outer)


def _each_file(run: Callable[[StoreFile], Hashable], root: Path) -> Hashable:
    found = []
    for file in find_files(root):
        try:
            found.append(run(file))
        except (FormatError, UsageError, OSError) as error:
            found.append(type(error).__name__)
    return tuple(found)


def _rows(file: StoreFile) -> Hashable:
    gaps: list[Any] = []
    geometry = _GEOMETRY if file.kind == "index" else None
    rows = [(table, batch.num_rows) for table, batch in decode([file], geometry=geometry, on_gap=gaps.append)]
    return tuple(rows), len(gaps)


def _summary(file: StoreFile) -> Hashable:
    return str(occupancy(file.path, _GEOMETRY) if file.kind == "index" else summarise(file))


def _bytes(file: StoreFile) -> Hashable:
    """What a few bytes of it mean."""
    geometry = _GEOMETRY if file.kind == "index" else None
    return tuple(str(byte_at(file, at, geometry)) for at in (0, 21, 45, 230, file.size() - 1))


def _query(root: Path, _: Path) -> Hashable:
    found = []
    for topic, key in (("T", "k0"), ("%RETRY%g", "k"), ("U", "U" + f"{3:031}"), ("none", "")):
        answer = query(root, topic, key, begin=0, end=1 << 62, geometry=_GEOMETRY)
        found.append((len(answer.offsets), len(answer.messages)))
    return tuple(found)


def _diff(root: Path, scratch: Path) -> Hashable:
    """Each file against the one of the sound store, and against the next."""
    whole = scratch / "whole"
    _write(whole, _stores()[2])
    count = 0
    for folder in ("index", "consumequeue", "commitlog", "checkpoint"):
        one, other = (
            sorted(path for path in (at, *at.rglob("*")) if path.is_file())
            for at in (root / folder, whole / folder)
        )
        for left, right in zip(one[:2], other[:2], strict=False):
            count += len(list(diff(left, right, geometry=_GEOMETRY)))
    return count


def _rebuild(root: Path, scratch: Path) -> Hashable:
    """Rebuilt from whatever log there is; the result has no error of its own."""
    out = scratch / "rebuilt"
    rebuild(root, out, geometry=_GEOMETRY)
    assert (out / "_manifest.json").is_file()
    return tuple(sorted((path.name, path.stat().st_size) for path in out.rglob("*") if path.is_file()))


def _restart(root: Path, _: Path) -> Hashable:
    """Both predictions, with every key and unit that would be lost."""
    return tuple((str(one), tuple(map(str, one.lost))) for one in restarts(root, geometry=_GEOMETRY))


def _findings(root: Path, _: Path, *, level: Any) -> Hashable:
    return tuple((one.code, one.file) for one in audit(root, level, geometry=_GEOMETRY))


def _source(name: str, root: Path, _: Path) -> Hashable:
    """What Spark runs in its Python workers: the plan, and each partition's rows."""
    from rocket_spark.sources import SOURCES

    source = next(one for one in SOURCES if one.format_name == name)(
        {"path": str(root), "mode": "PERMISSIVE", "hashSlotNum": "7", "indexNum": "20"}
    )
    reader = source.reader(source.schema())
    return tuple(batch.num_rows for part in reader.partitions() for batch in reader.read(part))


def _sources() -> Iterator[tuple[str, StoreTarget]]:
    for name in ("index", "index-headers", "consumequeue", "consumequeue-ext", "commitlog", "checkpoint"):
        yield f"Spark source: {name}", StoreTarget(partial(_source, f"rocketmq-{name}"))


TARGETS: Final[dict[str, StoreTarget]] = {
    "store: decode": StoreTarget(lambda root, _: _each_file(_rows, root)),
    "store: query": StoreTarget(_query),
    "store: audit quick": StoreTarget(partial(_findings, level="quick")),
    "store: audit": StoreTarget(partial(_findings, level="default")),
    "store: audit deep": StoreTarget(partial(_findings, level="deep")),
    "store: restart": StoreTarget(_restart),
    "store: rebuild": StoreTarget(_rebuild),
    "store: digest": StoreTarget(lambda root, _: tuple(map(str, digest(root, geometry=_GEOMETRY)))),
    "store: diff": StoreTarget(_diff),
    "store: inspect": StoreTarget(lambda root, _: str(look_at(root, geometry=_GEOMETRY))),
    "store: summary": StoreTarget(lambda root, _: _each_file(_summary, root)),
    "store: bytes": StoreTarget(lambda root, _: _each_file(_bytes, root)),
    **dict(_sources()),
}
