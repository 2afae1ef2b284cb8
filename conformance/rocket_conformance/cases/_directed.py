"""All directed cases, each id once: the golden vectors, our own for what they do not cover, the golden stores' files.

They are indexed by id, and a vector is read when it is asked for: a run of one case needs no other.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from typing import Any, Final

import rocket_golden
from rocket_golden import StoreEntry
from rocket_reference import encode_record
from rocket_spec.errors import InvalidError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, LONG_TOPIC_MAGIC

from rocket_conformance.cases._case import Case, case_from_json
from rocket_conformance.files import FileImage, SparseFile, image_of
from rocket_conformance.protocol import Op

_FILE: Final = "20260101000000000"
_NOON: Final = 1_767_268_800_000
_KEY: Final = "a"  # key hash 97, slot 97
_HASH: Final = 97


def _open(*, load: bool) -> Op:
    return {
        "op": "index.open",
        "file": _FILE,
        "hash_slot_num": DEFAULT_GEOMETRY.hash_slot_num,
        "index_num": DEFAULT_GEOMETRY.index_num,
        "end_phy_offset": "0",
        "end_timestamp": "0",
        "load": load,
    }


def _put(phy_offset: int) -> Op:
    return {
        "op": "index.put",
        "key": _KEY,
        "phy_offset": str(phy_offset),
        "store_timestamp": str(_NOON + 1000 * phy_offset),
    }


def _select() -> Op:
    return {"op": "index.select", "key": _KEY, "max_num": 64, "begin": "0", "end": str((1 << 63) - 1)}


def _simple(*names: str) -> list[Op]:
    return [{"op": f"index.{name}"} for name in names]


def _nearly_full(missing: int) -> FileImage:
    """A default file with room for `missing` more entries; its newest entry is of our key."""
    count = DEFAULT_GEOMETRY.index_num - missing
    file = SparseFile(DEFAULT_GEOMETRY.file_size)
    file.write(0, pack(">qqqqii", _NOON, _NOON, 0, 0, 1, count))
    file.write(40 + 4 * _HASH, pack(">i", count - 1))
    last = DEFAULT_GEOMETRY.entries_offset + INDEX_ENTRY.size * (count - 1)
    file.write(last, pack(">iqii", _HASH, 7, 0, 0))
    return file.image()


def _case(name: str, ops: list[Op], *also: str, **fields: Any) -> Case:
    return Case(id=name, clauses=(name.partition("/")[0], *also), ops=tuple(ops), **fields)


def _build(keys: str, commit_log_offset: int) -> Op:
    return {
        "op": "service.build",
        "topic": "T",
        "uniq_key": None,
        "keys": keys,
        "commit_log_offset": str(commit_log_offset),
        "store_timestamp": str(_NOON + commit_log_offset),
        "sys_flag": 0,
    }


def _query(key: str) -> Op:
    return _select() | {"op": "service.query", "topic": "T", "key": key}


def _open_service(hash_slot_num: int, index_num: int) -> Op:
    geometry = {"hash_slot_num": hash_slot_num, "index_num": index_num}
    return {"op": "service.open", **geometry, "last_exit_ok": True, "index_msg_timestamp": "0"}


def _many_keys() -> list[Op]:
    """One message with more keys than an answer has offsets: all are indexed."""
    keys = [f"k{number}" for number in range(100)]
    return [_open_service(7, 120), _build(" ".join(keys), 100), *map(_query, keys[::33])]


def _keys_in_two_files() -> list[Op]:
    """Files of three entries: of the second message the first key still goes into the first."""
    return [
        _open_service(7, 4),
        _build("a b", 100),
        _build("c d", 200),
        *map(_query, "abcd"),
        {"op": "service.settle"},
    ]


def _long_topic() -> FileImage:
    """A log with a record of the magic that 5.1.0 added, whose topic has a length of two bytes."""
    record = encode_record("T", b"body", {"KEYS": "k"}, store_timestamp=_NOON)
    size = len(record) + 1
    head = pack(">ii", size, LONG_TOPIC_MAGIC)
    at = record.index(b"body") + len(b"body")
    data = head + record[len(head) : at] + b"\0" + record[at:]
    return FileImage(len(data), {0: data})


def _service_cases() -> list[Case]:
    return [
        _case(
            "IDX-SVC-2/100-keys",
            _many_keys(),
            description=(
                "Catches a limit on the number of a message's keys. "
                "Cost: a message is not found under its last keys."
            ),
        ),
        _case("IDX-SVC-3/keys-in-two-files", _keys_in_two_files()),
        _case(
            "IDX-SVC-4/named-by-the-clock",
            [_open_service(7, 4), _build("a", 1)],
            description=(
                "Catches a file named by the message's time, by a number, or with other than 17 digits. "
                "Cost: the broker loads the files in the order of their names, and takes puts into the wrong one."
            ),
        ),
        _case(
            "IDX-SVC-4/next-file-named-by-the-clock",
            _keys_in_two_files(),
            description=(
                "Catches a file after a full one named by the offset or the time that it begins with. "
                "Cost: the broker loads the files in the order of their names, and takes puts into the wrong one."
            ),
        ),
        _case(
            "IDX-SVC-8/earlier-time",
            [
                _open_service(7, 12),
                _build("a", 100),
                _build("a", 200) | {"store_timestamp": str(_NOON - 5_000)},
                _query("a"),
            ],
            description=(
                "Catches messages left out by their time. Cost: after a change of the clock messages are not found."
            ),
        ),
        _case(
            "IDX-SVC-11/across-files",
            [_open_service(7, 4), _build("a a", 100), _build("a a a", 200), _query("a") | {"max_num": 4}],
            description=(
                "Catches a maximum that holds for each file. Cost: an answer has more messages than were asked for."
            ),
        ),
    ]


def _read_cases() -> list[Case]:
    """A log of one record for readers."""
    blanks = encode_record("T", b"b", b" NAME \x01 value \x02KEYS\x01 k ", store_timestamp=_NOON)
    return [
        _case(
            "LOG-PROP-2/read-blanks-kept",
            [{"op": "log.read", "file": "log"}],
            files={"log": image_of(blanks)},
            description=(
                "Catches names and values without the blanks around them. "
                "Cost: a message is looked for by another key than it is indexed under."
            ),
        ),
    ]


def own_cases() -> list[Case]:
    """All of them, in the order of their clauses."""
    return [
        _case(
            "IDX-FILE-1/default-geometry",
            [_open(load=False), _put(1), _put(2), _select(), *_simple("header", "flush")],
        ),
        _case(
            "IDX-ENT-1/default-geometry-last-entry",
            [_open(load=True), _put(8), _select(), *_simple("header")],
            files={_FILE: _nearly_full(1)},
        ),
        _case(
            "IDX-PUT-1/default-geometry-full",
            [_open(load=True), *_simple("full"), _put(8), *_simple("full"), _put(9), _select()],
            "IDX-FULL-1",
            files={_FILE: _nearly_full(1)},
        ),
        _case(
            "IDX-SEL-1/last-entry-of-a-full-file",
            [
                _open(load=False) | {"hash_slot_num": 1, "index_num": 3},
                *(_put(1), _put(2)),
                *_simple("full"),
                _select(),
            ],
        ),
        *_service_cases(),
        *_read_cases(),
        _case(
            "LOG-DSP-6/magic-of-5-1-0",
            [{"op": "log.dispatch", "file": "log", "check_crc": True}],
            files={"log": _long_topic()},
        ),
    ]


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


class _GoldenFiles(Mapping[str, FileImage]):
    """Files of a golden store, unpacked when one is asked for."""

    def __init__(self, store: str, variant: str | None, names: tuple[str, ...]) -> None:
        self._store = store
        self._variant = variant
        self._names = names

    def __getitem__(self, name: str) -> FileImage:
        if name not in self._names:
            raise KeyError(name)
        return _unpacked(self._store, self._variant)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


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
        files=_GoldenFiles(store.name, variant, files),
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


def _entries() -> Iterator[tuple[str, Callable[[], Case]]]:
    """Ids and what makes their cases: vectors, whose SHA-256 is verified, and the others."""
    try:
        vectors = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    except rocket_golden.DamagedError as error:
        raise InvalidError(file=error.file, found=error.found, expected=error.expected) from None
    made: dict[str, Callable[[], Case]] = {vector["id"]: partial(_vector_case, vector) for vector in vectors}
    logs = [vector["id"] for vector in vectors if all(op["op"] == "log.dispatch" for op in vector["ops"])]
    if len(made) < len(vectors):
        raise ValueError("ids of vectors repeat")
    yield from made.items()
    for case in own_cases():
        made[case.id] = partial(_same, case)
        yield case.id, made[case.id]
        if all(op["op"] == "log.dispatch" for op in case.ops):
            logs.append(case.id)
    for name in logs:
        yield name.replace("/", "/read-"), partial(_reading_case, made[name])
    for case in golden_cases():
        yield case.id, partial(_same, case)


def _vector_case(vector: dict[str, Any]) -> Case:
    return case_from_json(vector, file=f"vector {vector.get('id')}")


def _same(case: Case) -> Case:
    return case


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
    found: dict[str, Callable[[], Case]] = {}
    for name, made in _entries():
        if name in found:
            raise ValueError(f"case ids repeat: {name}")
        found[name] = made
    return found


def directed_ids() -> tuple[str, ...]:
    """The id of every directed case.

    Raises:
        ValueError: when two cases share an id.
        InvalidError: when a file of vectors is not the one that the manifest describes.
    """
    return tuple(_index())


@cache
def directed_case(name: str) -> Case:
    """The directed case with an id, a KeyError if there is none."""
    return _index()[name]()


def directed_cases() -> tuple[Case, ...]:
    """Every directed case."""
    return tuple(map(directed_case, directed_ids()))
