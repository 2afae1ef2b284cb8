"""Rebuilt index files and consume queues against those that the real broker wrote, byte for byte."""

import filecmp
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from golden_logs import commitlog
from rocket_columnar.audit import audit
from rocket_columnar.index import IndexFile, hashes_at
from rocket_columnar.rebuild import FOLDERS, MANIFEST, IndexPlan, Twin, name_indexes, rebuild, settled_names
from rocket_golden import manifest, open_store, stores
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, blank, put, record
from store_cases import Case
from table_rows import same

BROKEN = ("killed", "dledger-group-rejoined")
"""Stores whose index a recovery wrote: what an unbroken broker writes differs."""


@pytest.fixture(scope="module", params=[name for name in stores(log=None) if not name.startswith(BROKEN)])
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(request.param, tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def rebuilt(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("rebuilt") / "new"
    assert rebuild(golden, directory, commitlog=commitlog(golden)).findings == ()
    return directory


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_index_files(golden: Path, rebuilt: Path) -> None:
    there, made = files(golden / "index"), files(rebuilt / "index")
    assert len(there) == len(made) > 0
    assert all(filecmp.cmp(*pair, shallow=False) for pair in zip(there, made, strict=True))
    assert all(len(path.name) == 17 and path.name.isdecimal() for path in made)


@pytest.mark.parametrize("part", ["consumequeue", "consumequeue_ext"])
def test_consume_queues(golden: Path, rebuilt: Path, part: str) -> None:
    same(golden / part, rebuilt / part)


def test_nothing_else_is_left_in_the_directory(rebuilt: Path) -> None:
    assert {path.name for path in rebuilt.iterdir()} <= {*FOLDERS, MANIFEST}


@pytest.mark.parametrize(
    "name", [*(name for name in manifest().stores if name.startswith(BROKEN)), "dledger-expired"]
)
def test_the_rebuilt_index_of_a_killed_broker_has_no_findings(name: str, tmp_path: Path) -> None:
    store = open_store(name, tmp_path / "golden")
    rebuild(store, tmp_path / "new")
    shutil.rmtree(store / "index")
    shutil.rmtree(store / "consumequeue")
    for part in ("index", "consumequeue"):
        shutil.copytree(tmp_path / "new" / part, store / part)
    # The checkpoint knows nothing of the files: a start after a kill deletes them again.
    known = {"store.abort", "checkpoint.behind"} if (store / "abort").exists() else set()
    assert {finding.code for finding in audit(store, "deep")} == known


def test_a_keyless_message_behind_a_full_file_rolls_it(tmp_path: Path) -> None:
    """IDX-SVC-3, IDX-FILE-2: three entries fill a file of four; the next message makes a seeded one, without a key."""
    case = Case(tmp_path)
    case.run("record keys=k time=T,T+1000,T+2000\nrecord time=T+9000")
    last = case.records[2][0]
    rebuild(tmp_path / "store", tmp_path / "new", geometry=Geometry(4, 4))
    full, seeded = files(tmp_path / "new/index")
    with IndexFile(tmp_path / "expected" / "1", 4, 4) as expected:
        for number in range(3):
            assert expected.put("T#k", case.records[number][0], BEGIN + 1000 * number)
    assert full.read_bytes() == (tmp_path / "expected" / "1").read_bytes()
    header = struct.pack(">qqqqii", BEGIN + 2000, BEGIN + 2000, last, last, 0, 0)
    assert seeded.read_bytes() == header + bytes(4 * 4 + 20 * 4)


def test_keys_of_unsafe_topics_are_those_of_the_own_index_which_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One such record in each of two log files; the index has their keys as those of another topic."""
    store, size, asked = tmp_path / "store", 4096, list[list[int]]()
    for base in (0, size):
        one = record(base, topic=b"../../x", properties=b"KEYS\1k", store_timestamp=BEGIN)
        put(store, f"commitlog/{base:020}", one + blank(size - len(one)))
    with IndexFile(store / "index" / "20231114221320000", 4, 8) as own:
        assert all(own.put("T#k", base, BEGIN) for base in (0, size))
        own.flush()

    def counted(files: Any, geometry: Geometry, offsets: list[int]) -> dict[int, list[int]]:
        asked.append(offsets)
        return hashes_at(files, geometry, offsets)

    monkeypatch.setattr("rocket_columnar.rebuild.dispatched_columns.hashes_at", counted)
    rebuild(store, tmp_path / "new", geometry=Geometry(4, 8))
    (made,) = files(tmp_path / "new/index")
    assert made.read_bytes() == files(store / "index")[0].read_bytes()
    assert asked == [[0, size]]


def test_only_missing_writes_what_the_store_lacks(tmp_path: Path) -> None:
    store = open_store("small-roll", tmp_path / "golden")
    assert rebuild(store, tmp_path / "nothing", only_missing=True).files == ()
    index = files(store / "index")[4]
    queue = files(store / "consumequeue")[2]
    log = files(store / "consumequeue")[0]
    held = {path: path.read_bytes() for path in (index, queue, log)}
    queue.unlink()
    for path in (index, log):
        data = bytearray(held[path])
        data[-3 if path == index else 2] ^= 1
        path.write_bytes(data)
    done = rebuild(store, tmp_path / "some", only_missing=True)
    assert set(done.files) == {path.relative_to(store).as_posix() for path in held}
    assert all(
        (tmp_path / "some" / path.relative_to(store)).read_bytes() == data for path, data in held.items()
    )


def test_a_missing_index_file_is_named_between_its_neighbours(tmp_path: Path) -> None:
    """A recovery makes index files long after their records, so their names are later than the records' times."""
    store = open_store("small-roll", tmp_path / "golden")
    own = files(store / "index")
    held = [path.read_bytes() for path in own]
    for path in own:
        path.rename(path.with_name(f"{int(path.name) + 10**13:017}"))  # years later
    names = [path.name for path in files(store / "index")]
    for number in (0, 2, 3):
        (store / "index" / names[number]).unlink()
    done = rebuild(store, tmp_path / "some", only_missing=True)
    assert len(done.files) == 3
    for path in files(tmp_path / "some/index"):
        path.rename(store / "index" / path.name)
    assert [path.read_bytes() for path in files(store / "index")] == held


def test_a_file_is_named_no_later_than_those_after_it() -> None:
    """The clock was an hour ahead while the record after the first file was stored."""
    plans, hour = [IndexPlan(0, 1), IndexPlan(1, 2), IndexPlan(2, 3)], 3_600_000
    ahead, right = (name_indexes((), (), plans, times) for times in ([hour, 5, 9], [5, 5, 9]))
    assert ahead == right == sorted(set(right))


@pytest.mark.parametrize(
    ("names", "twins", "settled"),
    [
        ((8, 9, 9), (None, None, Twin(f"{5:017}", same=True)), (3, 4, None)),
        ((1, 9), (Twin(f"{5:017}", same=False),) * 2, (5, 9)),
        ((1, 2), (Twin(f"{5:017}", same=False),) * 2, (5, 6)),
    ],
)
def test_names_of_index_files_beside_those_of_the_store(
    names: tuple[int, ...], twins: tuple[Twin | None, ...], settled: tuple[int | None, ...]
) -> None:
    """Those that the store lacks sort between those before and after; of two that stand for one file, the first has its name."""
    expected = [None if name is None else f"{name:017}" for name in settled]
    assert settled_names([f"{name:017}" for name in names], twins) == expected
