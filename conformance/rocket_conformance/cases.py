"""A case and its JSON, the one shape of vectors, case files and replay files; and all directed cases."""

import json
import re
import shlex
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, Self, cast

import rocket_golden
from rocket_golden import StoreEntry
from rocket_reference import encode_record
from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, LONG_TOPIC_MAGIC

from rocket_conformance.files import Allowance, FileImage, SparseFile, image_from_base64, image_of
from rocket_conformance.protocol import OPERATIONS, Op, Result, check_operation, check_path, parse_answer

SHAPE: Final = 1
"""The version of the JSON shape, its field `rocketspec_case`."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The observation of a case: a result per operation, and the files afterwards."""

    results: tuple[Result, ...]  # in the order of the operations
    # by path, relative to the case's directory
    files: Mapping[str, FileImage] = field(default_factory=dict[str, FileImage])

    @property
    def held(self) -> int:
        """Bytes of memory that the images of its files take."""
        return sum(image.held for image in self.files.values())

    def without_bytes(self) -> Self:
        """The observation with a digest of each file instead of its bytes."""
        files = {path: image.without_bytes() if image.whole else image for path, image in self.files.items()}
        return replace(self, files=files)


@dataclass(frozen=True, slots=True)
class Case:
    """A little program on one index file, one index service and one queue at a time."""

    id: str  # `CLAUSE/slug`, never reused
    clauses: tuple[str, ...]  # the clauses that it is evidence of, the one it is named after first
    ops: tuple[Op, ...]  # its operations
    # files that its directory has at the start
    files: Mapping[str, FileImage] = field(default_factory=dict[str, FileImage])
    expected: Observation | None = None  # what the real jar gave; None if only the reference decides
    producer: str = "reference"  # where `expected` comes from
    features: frozenset[str] = frozenset()  # what an adapter must have declared
    seed: int | None = None  # of the generator that made it; None for a case written by hand
    description: str = ""  # what it catches, and what that costs; empty where nobody wrote it

    @property
    def op_names(self) -> frozenset[str]:
        """The operations that it needs."""
        return frozenset(op["op"] for op in self.ops)


Origin = Literal["written", "seeded", "property"]
"""A case is written for its clause, a vector drawn from a seed, or a property, whose lists are drawn."""


def origin_of(name: str) -> Origin:
    """The origin of the case with an id."""
    slug = name.partition("/")[2]
    return "property" if slug.startswith("prop-") else "seeded" if slug.startswith("seeded-") else "written"


def geometries_of(ops: Sequence[Op]) -> frozenset[tuple[int, int]]:
    """The geometries that the operations open files with."""
    return frozenset((op["hash_slot_num"], op["index_num"]) for op in ops if "hash_slot_num" in op)


def _files_to_json(files: Mapping[str, FileImage], *, with_hash: bool) -> dict[str, Any]:
    return {
        path: (
            ({"sha256": image.sha256()} if with_hash else {}) | {"zstd_base64": image.to_base64()}
            if image.whole
            else {"size": image.size}
        )
        for path, image in sorted(files.items())
    }


def observation_to_json(observation: Observation) -> dict[str, Any]:
    """An observation as `expected` and `actual` hold it; of a file that was not read the length alone."""
    return {"results": list(observation.results), "files": _files_to_json(observation.files, with_hash=True)}


def case_to_json(case: Case, expected: Observation) -> dict[str, Any]:
    """The case as JSON; a replay file adds actual and divergence to it."""
    geometries = sorted(geometries_of(case.ops))
    return {
        "rocketspec_case": SHAPE,
        "id": case.id,
        **({"description": case.description} if case.description else {}),
        "clauses": list(case.clauses),
        "geometry": list(geometries[0]) if geometries else None,
        "files": _files_to_json(case.files, with_hash=False),
        "ops": list(case.ops),
        "expected": observation_to_json(expected),
        "producer": case.producer,
        "seed": case.seed,
    }


# --- parse --------------------------------------------------------------------------------------------

_EXPECTED: Final = "a case of protocol 1"
_LONGEST_ID: Final = 200
_LONGEST_DESCRIPTION: Final = 1_000
_CLAUSE: Final = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*-[1-9][0-9]*")
_MOST_FILES: Final = 1_000


def case_from_json(value: Any, *, file: str | None = None) -> Case:
    """The case that this JSON describes.

    Raises MalformedError: when it is not a case: a field is missing or of another type, an operation is unknown, a path
    leads outside the case's directory, or the files unpack to more than 2 GiB.
    """
    document = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    shape = document.get("rocketspec_case")
    if isinstance(shape, bool) or shape != SHAPE:
        raise MalformedError(
            file=file, found="other JSON", expected=f'an object with "rocketspec_case": {SHAPE}'
        )
    allowance = Allowance()
    with _named(file):
        ops = _operations(document.get("ops"))
        expected = document.get("expected")
        name = _text("id", document.get("id"))
        about, producer = document.get("description"), document.get("producer")
        lone = any(name.endswith("_utf16") for op in ops for name in op)
        return Case(
            id=name,
            clauses=_clauses(document.get("clauses"), name),
            ops=ops,
            files=_files(document.get("files"), allowance),
            expected=None if expected is None else _observation(expected, ops, allowance),
            producer=producer if isinstance(producer, str) else "" if producer is None else repr(producer),
            features=frozenset({"lone_surrogates"} if lone else ()),
            seed=_seed(document.get("seed")),
            description=_text("description", about, most=_LONGEST_DESCRIPTION) if about else "",
        )


@contextmanager
def _named(file: str | None) -> Generator[None]:
    """Turns what is wrong into an error that names the file."""
    try:
        yield
    except MalformedError as error:
        raise MalformedError(file=file, found=error.found, expected=error.expected) from None
    except ValueError as error:
        raise MalformedError(file=file, found=error, expected=_EXPECTED) from None


def _list(name: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{name} that is missing or not a list")
    return cast("list[object]", value)


def _object(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} that is not an object")
    return cast("dict[str, object]", value)


def _text(name: str, value: object, *, most: int = _LONGEST_ID) -> str:
    """A short text of one line, such as an id: it becomes the name of a replay file and is shown."""
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > most:
        raise ValueError(f"{name} {value!r:.80}: not a text of 1 to {most} printable characters")
    return value


def _clauses(value: object, name: str) -> tuple[str, ...]:
    """The clauses of a case; without any, the one that its id begins with."""
    given = [] if value is None else _list("clauses", value)
    found = tuple(_text("clauses", clause) for clause in given) or (name.partition("/")[0],)
    for clause in found:
        if not _CLAUSE.fullmatch(clause):
            raise ValueError(
                f"clause {clause!r:.80}: not an id such as IDX-PUT-5; the id of a case begins with one"
            )
    return found


def _operations(value: object) -> tuple[Op, ...]:
    ops = _list("ops", value)
    for place, op in enumerate(ops):
        try:
            check_operation(op)
        except ValueError as error:
            raise ValueError(f"operation {place}: {error}") from None
    return tuple(cast("list[Op]", ops))


def _seed(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"seed {value!r:.80}: not an integer or null")
    return value


def _observation(value: object, ops: Sequence[Op], allowance: Allowance) -> Observation:
    expected = _object("expected", value)
    return Observation(
        parse_answer({"results": expected.get("results")}, ops).results,
        _files(expected.get("files"), allowance),
    )


def _files(value: object, allowance: Allowance) -> dict[str, FileImage]:
    files = {} if value is None else _object("files", value)
    if len(files) > _MOST_FILES:
        raise ValueError(f"{len(files):,} files; at most {_MOST_FILES:,} are allowed")
    images: dict[str, FileImage] = {}
    for path, entry in files.items():
        check_path(path)
        if any(f"{parent}/" == path[: len(parent) + 1] for parent in files):
            raise ValueError(f"file {path!r:.80}: is inside another file")
        packed = _object(f"file {path!r:.80}", entry).get("zstd_base64")
        if not isinstance(packed, str):
            raise ValueError(f"file {path!r:.80} without zstd_base64")
        images[path] = image_from_base64(packed, allowance)
    return images


# --- our own cases ------------------------------------------------------------------------------------

_FILE: Final = "20260101000000000"
_NOON: Final = 1_767_268_800_000
_HASH: Final = 97  # of the key `a`, and its slot


def _nearly_full() -> dict[str, FileImage]:
    """A default file with room for one more entry; its newest entry is of the key `a`."""
    count = DEFAULT_GEOMETRY.index_num - 1
    file = SparseFile(DEFAULT_GEOMETRY.file_size)
    file.write(0, pack(">qqqqii", _NOON, _NOON, 0, 0, 1, count))
    file.write(40 + 4 * _HASH, pack(">i", count - 1))
    last = DEFAULT_GEOMETRY.entries_offset + INDEX_ENTRY.size * (count - 1)
    file.write(last, pack(">iqii", _HASH, 7, 0, 0))
    return {_FILE: file.image()}


def _long_topic() -> dict[str, FileImage]:
    """A log with a record of the magic that 5.1.0 added, whose topic has a length of two bytes."""
    record = encode_record("T", b"body", {"KEYS": "k"}, store_timestamp=_NOON)
    size = len(record) + 1
    head = pack(">ii", size, LONG_TOPIC_MAGIC)
    at = record.index(b"body") + len(b"body")
    return {"log": image_of(head + record[len(head) : at] + b"\0" + record[at:])}


def _blanks() -> dict[str, FileImage]:
    record = encode_record("T", b"b", b" NAME \x01 value \x02KEYS\x01 k ", store_timestamp=_NOON)
    return {"log": image_of(record)}


class _FilesOnUse(Mapping[str, FileImage]):
    """Files of these names, made or unpacked when one is asked for."""

    def __init__(self, names: tuple[str, ...], make: Callable[[], Mapping[str, FileImage]]) -> None:
        self._names = names
        self._make = make

    def __getitem__(self, name: str) -> FileImage:
        if name not in self._names:
            raise KeyError(name)
        return self._make()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


_FILES: Final[Mapping[str, Mapping[str, FileImage]]] = {
    "IDX-ENT-1/default-geometry-last-entry": _FilesOnUse((_FILE,), _nearly_full),
    "IDX-PUT-1/default-geometry-full": _FilesOnUse((_FILE,), _nearly_full),
    "LOG-PROP-2/read-blanks-kept": _FilesOnUse(("log",), _blanks),
    "LOG-DSP-6/magic-of-5-1-0": _FilesOnUse(("log",), _long_topic),
}
"""The files that cases have at the start, by id."""


def own_cases() -> Iterator[Case]:
    """Cases for what the vectors do not cover: those of `own_cases.txt`."""
    text = Path(__file__).with_name("own_cases.txt").read_text("utf-8")
    for heading, body in re.findall(r"^([^# \n].*)\n((?:  .*\n)+)", text, re.MULTILINE):
        name, *also = heading.split()
        lines = [line.strip() for line in body.splitlines()]
        ops = [line for line in lines if line.partition(" ")[0] in OPERATIONS]
        yield Case(
            id=name,
            clauses=(name.partition("/")[0], *also),
            ops=tuple(map(_operation_of, ops)),
            files=_FILES.get(name, {}),
            description=" ".join(line for line in lines if line not in ops),
        )


def _operation_of(line: str) -> Op:
    name, *words = shlex.split(line)
    op: Op = {"op": name}
    for word in words:
        given, _, text = word.partition("=")
        plain = text == "null" or OPERATIONS[name].fields[given] in {"i32", "bool"}
        op[given] = json.loads(text) if plain else text
    return op


# --- golden files -------------------------------------------------------------------------------------

_STORES: Final = ("ipv6", "lmq", "mixed", "small-roll", "transactions")
_DAMAGED: Final = "mixed"
_CLAUSES: Final = {"index": "IDX-ENT-1", "queue": "CQ-UNIT-1", "log": "LOG-REC-1", "checkpoint": "CKP-1"}


@cache
def _unpacked(store: str, variant: str | None) -> dict[str, FileImage]:
    """The files of a golden store, or of a damaged variant of it, by name: 13 MB of them in all."""
    with TemporaryDirectory(prefix="rocketspec-golden-") as folder:
        root = (
            rocket_golden.open_store(store, folder)
            if variant is None
            else rocket_golden.open_damaged(variant, folder)
        )
        found = (path for path in root.rglob("*") if path.is_file())
        return {Path(path).relative_to(root).as_posix(): image_of(path.read_bytes()) for path in found}


def _operation(kind: str, file: str, store: StoreEntry) -> Op:
    if kind == "checkpoint":
        return {"op": "checkpoint.read"}
    op: Op = {"op": f"{kind}.read", "file": file}
    if kind == "index":
        op |= {"hash_slot_num": store.geometry[0], "index_num": store.geometry[1]}
    return op


def _golden_case(
    slug: str, kind: str, files: tuple[str, ...], store: StoreEntry, variant: str | None
) -> Case:
    clause = _CLAUSES[kind]
    return Case(
        id=f"{clause}/read-{slug}",
        clauses=(clause,),
        ops=tuple(_operation(kind, file, store) for file in files),
        files=_FilesOnUse(files, partial(_unpacked, store.name, variant)),
    )


def golden_cases() -> list[Case]:
    """One case for each kind of file of a few stores, and one for each damaged file of a store."""
    stores = rocket_golden.manifest().stores
    cases: list[Case] = []
    for name in _STORES:
        for kind in _CLAUSES:
            files = tuple(file.file for file in stores[name].files if file.kind == kind)
            cases.append(_golden_case(name, kind, files, stores[name], None))
    kinds = {file.file: file.kind for file in stores[_DAMAGED].files}
    for damaged in rocket_golden.damaged():
        kind = kinds.get(damaged.file, "")
        gone = any(patch.action == "delete" and patch.file == damaged.file for patch in damaged.patches)
        if damaged.store == _DAMAGED and kind in _CLAUSES and not gone:
            cases.append(_golden_case(damaged.name, kind, (damaged.file,), stores[_DAMAGED], damaged.name))
    return cases


# --- directed -----------------------------------------------------------------------------------------


def _reading_case(dispatched: Callable[[], Case]) -> Case:
    """A commit log that the real jar has dispatched, for tools that only read: what it answered bounds what they see."""
    case = dispatched()
    files = dict.fromkeys(op["file"] for op in case.ops)
    return Case(
        id=case.id.replace("/", "/read-"),
        clauses=case.clauses,
        ops=tuple({"op": "log.read", "file": file} for file in files),
        files=case.files,
        description=case.description,
    )


@cache
def _index() -> Mapping[str, Callable[[], Case]]:
    """By id, the vectors, whose SHA-256 is verified, and the other cases, each made on use."""
    try:
        vectors = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    except rocket_golden.DamagedError as error:
        raise InvalidError(file=error.file, found=error.found, expected=error.expected) from None
    known: list[tuple[str, Sequence[Op], Callable[[], Case]]] = [
        (vector["id"], vector["ops"], partial(case_from_json, vector, file=f"vector {vector['id']}"))
        for vector in vectors
    ]
    known += [(case.id, case.ops, partial(replace, case)) for case in own_cases()]
    made = [(name, make) for name, _, make in known]
    for name, ops, make in known:
        if all(op["op"] == "log.dispatch" for op in ops):
            made.append((name.replace("/", "/read-"), partial(_reading_case, make)))
    made += [(case.id, partial(replace, case)) for case in golden_cases()]
    found = dict(made)
    if len(found) < len(made):
        raise ValueError("case ids repeat")
    return found


def directed_ids() -> tuple[str, ...]:
    """The id of every directed case.

    Raises ValueError: when two cases share an id.
    Raises InvalidError: when a file of vectors is not the one that the manifest describes.
    """
    return tuple(_index())


@cache
def directed_case(name: str) -> Case:
    """The directed case with an id, a KeyError if there is none."""
    return _index()[name]()


def directed_cases() -> tuple[Case, ...]:
    """Every directed case."""
    return tuple(map(directed_case, directed_ids()))
