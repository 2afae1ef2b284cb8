"""Stores of brokers with one fault: audit and judge name its one clause. The broker is the reference over a log of many kinds of messages."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from judged_stores import judge_store
from reference_starts import names
from rocket_columnar.audit import audit
from rocket_columnar.facts import Store
from rocket_columnar.restart import restart
from rocket_conformance.misreadings import Mutant
from rocket_conformance.reference_adapter import REFERENCE, Library
from rocket_reference import encode_record
from store_bytes import overwrite

NOON = 1_767_268_800_000
FILE = 8192
SETTINGS = (
    "maxHashSlotNum=97\nmaxIndexNum=200\nmappedFileSizeConsumeQueue=2000\nmappedFileSizeCommitLog=8192\n"
)
LIGHT = "enableLmq=true\nenableMultiDispatch=true\nenableConsumeQueueExt=true\nmappedFileSizeConsumeQueueExt=500\n"
BLANK_MAGIC = (-875286124).to_bytes(4, signed=True)
COMMIT, ROLLBACK = 8, 12

Message = tuple[str, int, int, dict[str, str]]


def messages(first_light: int) -> Iterator[Message]:
    """Topic, queue, transaction type and properties: with up to 20 keys, tags that end in a blank, and two light queues."""
    light = Counter[str]()
    for number in range(120):
        keys = f"k{number} shared É{number}" if number % 5 else " ".join(f"m{number}-{n}" for n in range(20))
        yield (
            "Plain",
            number % 3,
            0,
            {"UNIQ_KEY": f"U{number:04}", "KEYS": keys, "TAGS": f"Tag{number % 7} "},
        )
        if number % 4 == 0:
            further = f"%LMQ%a{number % 3}", "%LMQ%b"
            offsets = ",".join(str(first_light + light[name]) for name in further)
            light.update(further)
            pairs = {"INNER_MULTI_DISPATCH": ",".join(further), "INNER_MULTI_QUEUE_OFFSET": offsets}
            yield "Light", 1, 0, {"UNIQ_KEY": f"L{number:04}", "TAGS": "a"} | pairs
        if number % 10 in (3, 4):
            yield "Paid", 0, COMMIT if number % 10 == 4 else ROLLBACK, {"UNIQ_KEY": f"P{number}"}


def write_log(
    store: Path,
    *,
    room: int = 8,
    first_light: int = 0,
    counts: tuple[int, ...] = (0, COMMIT),
    blank: Callable[[int], int] = lambda left: left,
) -> None:
    """Writes the log of a store.

    Args:
        store: where it goes.
        room: bytes that stay free at a file's end.
        first_light: logical offset of the first message of a light queue.
        counts: transaction types that count as messages of their queue.
        blank: the length that a blank states, by the bytes to the file's end.
    """
    files, queues = [b""], Counter[tuple[str, int]]()
    for number, (topic, queue_id, kind, properties) in enumerate(messages(first_light)):
        queue = topic, queue_id

        def record(phy_offset: int) -> bytes:
            return encode_record(
                topic,  # noqa: B023 - called at once
                b"body %d" % number,  # noqa: B023
                properties,  # noqa: B023
                queue_id=queue_id,  # noqa: B023
                queue_offset=queues[queue] if kind in (0, COMMIT) else 0,  # noqa: B023
                phy_offset=phy_offset,
                store_timestamp=NOON + 37 * number,  # noqa: B023
                sys_flag=kind,  # noqa: B023
            )

        left = FILE - len(files[-1])
        if len(record(0)) + room > left:
            files[-1] += blank(left).to_bytes(4) + BLANK_MAGIC
            files.append(b"")
        files[-1] += record(FILE * (len(files) - 1) + len(files[-1]))
        queues[queue] += kind in counts
    (store / "commitlog").mkdir(parents=True)
    for number, data in enumerate(files):
        (store / "commitlog" / f"{FILE * number:020}").write_bytes(data.ljust(FILE, b"\0"))


def made(store: Path, library: Library = REFERENCE, **log: object) -> Path:
    """The store of a broker that dispatched all of its log and stopped cleanly."""
    write_log(store, **log)  # type: ignore[arg-type]
    (store / "abort").touch()
    config = library.StoreConfig(FILE, 2000, 500, 97, 200, multi_dispatch=True, lmq=True)
    broker = library.MessageStore(store, config, new_index_name=names())
    assert broker.load()
    broker.start()
    assert broker.shutdown()
    shutil.rmtree(store / "lock", ignore_errors=True)
    return store


def renamed(store: Path, folder: str, name: Callable[[int, int], str]) -> None:
    """Gives the files of a folder other names, by the place of each and its number."""
    for place, path in enumerate(sorted(file for file in (store / folder).rglob("*") if file.is_file())):
        path.rename(path.with_name(name(place, int(path.name))))


def test_a_store_without_a_fault(tmp_path: Path) -> None:
    store = made(tmp_path / "store")
    assert judge_store(store).with_outcome("broken") == []
    assert list(audit(store, "exact")) == []


OF_LOG: dict[str, tuple[str, dict[str, object]]] = {
    "a blank states another length": ("LOG-BLANK-1", {"blank": lambda left: left - 8}),
    "a file ends although a record would fit": ("LOG-BLANK-1", {"room": 300}),
    "light queues begin at 1": ("CQ-LMQ-4", {"first_light": 1}),
    "a rolled-back message counts": ("LOG-REC-6", {"counts": (0, COMMIT, ROLLBACK)}),
}


@pytest.mark.parametrize("name", OF_LOG)
def test_faults_of_appends(name: str, tmp_path: Path) -> None:
    clause, log = OF_LOG[name]
    both_name(made(tmp_path / "store", **log), clause)


OF_DISPATCH = {
    "first light queue alone": (
        "CQ-LMQ-1",
        "queue_table",
        "zip(names, offsets, strict=True)",
        "[(names[0], offsets[0])]",
    ),
    "rolled-back messages are queued": (
        "LOG-DSP-7",
        "queue_table",
        "(_TRANSACTION_NOT, _TRANSACTION_COMMIT)",
        "(_TRANSACTION_NOT, _TRANSACTION_COMMIT, 12)",
    ),
    "tags without blanks": (
        "CQ-TAGS-1",
        "consume_queue",
        "string_hash(tags)",
        "string_hash(tags.strip())",
    ),
    "address of a unit's end": (
        "CQ-EXT-2",
        "consume_queue_ext_store",
        "position + mapped_file.file_from_offset)",
        "position + mapped_file.file_from_offset + size)",
    ),
    "no end mark": (
        "CQ-EXT-3",
        "consume_queue_ext_store",
        "mapped_file.view[position : position + len(_END_MARK)] = _END_MARK",
        "pass",
    ),
    "ext unit of another time": (
        "CQ-EXT-1",
        "consume_queue_ext_store",
        "encode_ext_unit(tags_code, store_timestamp",
        "encode_ext_unit(tags_code, store_timestamp + 1",
    ),
    "sixteen keys at most": (
        "IDX-SVC-2",
        "index_service",
        'split_one_space(request.keys or "")',
        'split_one_space(request.keys or "")[:16]',
    ),
    "keys in reverse": (
        "IDX-SVC-2",
        "index_service",
        'split_one_space(request.keys or "")',
        'reversed(split_one_space(request.keys or ""))',
    ),
    "end offset after the record's begin": (
        "IDX-HDR-3",
        "index_file",
        "set_end_phy_offset(phy_offset)  #",
        "set_end_phy_offset(phy_offset + 1)  #",
    ),
}


@pytest.mark.parametrize("name", OF_DISPATCH)
def test_faults_of_the_dispatch(name: str, tmp_path: Path) -> None:
    clause, module, old, new = OF_DISPATCH[name]
    both_name(made(tmp_path / "store", Mutant("fault", clause, module, old, new).library()), clause)


OF_FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "index files are numbered": ("IDX-SVC-4", lambda store: renamed(store, "index", lambda at, _: f"{at:020}")),
    "queue files have no zeros": (
        "CQ-FILE-2",
        lambda store: renamed(store, "consumequeue", lambda _, base: str(base)),
    ),
    "ext files have no zeros": (
        "CQ-EXT-4",
        lambda store: renamed(store, "consumequeue_ext", lambda _, base: str(base)),
    ),
    "a checkpoint of 24 bytes": ("CKP-2", lambda store: os.truncate(store / "checkpoint", 24)),
    "no time of the queues": ("CQ-PUT-9", lambda store: overwrite(store / "checkpoint", 8, bytes(8))),
    "index time of a file's begin": (
        "IDX-SVC-18",
        lambda store: overwrite(store / "checkpoint", 16, sorted((store / "index").iterdir())[-2].read_bytes()[:8]),
    ),
    "no checksum of a body": (
        "LOG-REC-4",
        lambda store: overwrite(store / "commitlog" / f"{0:020}", 8, bytes(4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_FILES)
def test_faults_of_names_and_flushes(name: str, tmp_path: Path) -> None:
    clause, change = OF_FILES[name]
    store = made(tmp_path / "store")
    change(store)
    both_name(store, clause)


def both_name(store: Path, clause: str) -> None:
    """Asserts that the judge calls this clause alone broken, and that the audit names no other one in a finding that is no note."""
    assert judge_store(store).with_outcome("broken") == [clause]
    found = list(audit(store, "exact"))
    assert clause in {one.clause for one in found}
    also = {"CQ-PUT-3", "CKP-6"}  # what follows from it for consumers and a recovery
    assert {one.clause for one in found if one.severity != "note"} <= {clause, *also}


def test_a_start_ignores_the_length_of_a_blank(tmp_path: Path) -> None:
    """LOG-BLANK-2: nothing is lost."""
    store = made(tmp_path / "store", blank=lambda left: left - 8)
    foretold = restart(store)
    assert foretold.safe
    assert not foretold.lost
    assert Store(store).end == Store(made(tmp_path / "sound")).end


def test_two_faults_at_once(tmp_path: Path) -> None:
    """Neither hides the other."""
    clause, module, old, new = OF_DISPATCH["rolled-back messages are queued"]
    store = made(tmp_path / "store", Mutant("fault", clause, module, old, new).library(), first_light=1)
    os.truncate(store / "checkpoint", 24)
    assert set(judge_store(store).with_outcome("broken")) == {"CKP-2", "CQ-LMQ-4", "LOG-DSP-7"}
