"""Stores in DLedger mode judged without an adapter."""

import os
from pathlib import Path

import pytest
from judged_stores import judge_store
from rocket_columnar.facts import Store
from rocket_conformance.store_verdict import Observations, judge_restart
from rocket_golden import open_store, stores, truth
from rocket_spec.errors import MalformedError, UsageError
from store_bytes import overwrite

DLEDGER = [*stores(log="dledger"), *stores(unclean=True, log="dledger")]


@pytest.mark.parametrize("name", DLEDGER)
def test_stores_in_dledger_mode_break_nothing(name: str, tmp_path: Path) -> None:
    judged = judge_store(open_store(name, tmp_path))
    assert judged.with_outcome("broken") == []
    held = set(judged.with_outcome("held"))
    assert held >= {"DLG-2", "DLG-3", "DLG-4", "DLG-5", "DLG-7", "CQ-UNIT-1", "IDX-PUT-6", "LOG-REC-4"}
    assert ("DLG-6" in held) == ("DLG-11" in held) == (not name.endswith("-killed"))
    assert ("DLG-16" in held) == (not name.endswith("-killed"))
    assert ("DLG-13" in held) == name.endswith("-rejoined")
    assert judged.records == sum(line["type"] == "log_record" for line in truth(name))


ENTRY = [int(line["pos"]) for line in truth("dledger") if line["type"] == "log_entry"][2]
"""Where the third entry of the store `dledger` begins, as Java reads it."""


@pytest.mark.parametrize(
    ("file", "at", "data", "broken", "place"),
    [
        pytest.param("data", 32, b"\0\0\0\1", ["DLG-3"], 32, id="channel"),
        pytest.param("data", ENTRY + 24, b"\0\0\0\0\0\0\0\1", ["DLG-2", "DLG-11"], ENTRY + 24, id="position"),
        pytest.param("data", ENTRY + 48, b"\0\0\0\5", ["DLG-4", "DLG-11"], ENTRY + 48, id="size of the record"),
        pytest.param("index", 32 * 3 + 12, b"\0\0\0\0", ["DLG-6"], 96, id="size in the index"),
    ],
)  # fmt: skip
def test_a_dledger_entry_with_another(
    file: str, at: int, data: bytes, broken: list[str], place: int, tmp_path: Path
) -> None:
    """A recovery ends the log at another position (DLG-17), although entries follow."""
    store = open_store("dledger", tmp_path)
    path = store / "dledger-n0" / file / "00000000000000000000"
    overwrite(path, at, data)
    judged = judge_store(store)
    assert judged.with_outcome("broken") == broken
    first = judged.observations.broken[broken[0]][0]
    assert (first.file, first.offset) == (path.relative_to(store).as_posix(), place)


def test_a_dledger_checkpoint_with_another_end(tmp_path: Path) -> None:
    store = open_store("dledger", tmp_path)
    (store / "dledger-n0" / "checkpoint").write_text("endIndex=999\ncommittedIndex=216\n")
    assert judge_store(store).with_outcome("broken") == ["DLG-11"]


def test_a_checkpoint_with_a_time_of_the_log_that_no_record_has(tmp_path: Path) -> None:
    """DLG-16: in DLedger mode it is the queues' time; in a plain store that of any flush, or 0 before the first (CKP-4)."""
    for name in ("dledger", "mixed"):
        store = open_store(name, tmp_path)
        also = ["DLG-16"] if name == "dledger" else []
        overwrite(store / "checkpoint", 0, bytes(7) + b"\1")
        assert judge_store(store).with_outcome("broken") == ["CKP-4", *also]
        overwrite(store / "checkpoint", 0, bytes(8))
        judged = judge_store(store)
        assert judged.with_outcome("broken") == also
        assert judged.outcome("CKP-4") == "not exercised"


def test_dledger_entries_that_are_not_committed(tmp_path: Path) -> None:
    """They are no messages of the store (DLG-10)."""
    store = open_store("dledger", tmp_path)
    (store / "dledger-n0" / "checkpoint").write_text("endIndex=216\ncommittedIndex=99\n")
    judged = judge_store(store)
    assert judged.records == 100
    assert "entries that were not committed at the stop, which nothing points to" in judged.observations.notes


def test_records_with_the_position_of_their_entries(tmp_path: Path) -> None:
    """Nothing can be found by such offsets: what else differs follows from them."""
    store = open_store("dledger", tmp_path)
    for path in data_files(store):
        for position in entries_of(path):
            overwrite(path, position + 48 + 28, (int(path.name) + position).to_bytes(8))
    judged = judge_store(store)
    assert judged.with_outcome("broken") == ["DLG-4"]
    assert judged.observations.broken["DLG-4"][0].offset == 48 + 28


def test_stores_of_two_dledger_members_are_refused(tmp_path: Path) -> None:
    store = open_store("dledger", tmp_path)
    (store / "dledger-n1" / "data").mkdir(parents=True)
    with pytest.raises(UsageError, match="several DLedger members: dledger-n0, dledger-n1"):
        judge_store(store)


def test_a_start_in_dledger_mode(tmp_path: Path) -> None:
    before, after = open_store("dledger", tmp_path / "before"), open_store("dledger", tmp_path / "after")
    seen = Observations()
    judge_restart(before, after, seen, Store)
    assert seen.broken == {}
    assert seen.held["DLG-17"] == sum(len(entries_of(file)) for file in data_files(before))
    assert seen.held["IDX-SVC-6"] == len(list((before / "index").iterdir()))


def test_a_start_in_dledger_mode_that_keeps_an_index_file_and_loses_an_entry(tmp_path: Path) -> None:
    before, after = open_store("dledger", tmp_path / "before"), open_store("dledger", tmp_path / "after")
    (before / "abort").touch()
    (before / "checkpoint").unlink()
    first, *rest = data_files(after)
    for file in rest:
        file.unlink()
    overwrite(first, entries_of(first)[1], bytes(8))
    seen = Observations()
    judge_restart(before, after, seen, Store)
    place = seen.broken["DLG-17"][0]
    assert (place.field, place.found) == ("record 1", "no record")
    assert [place.found for place in seen.broken["IDX-SVC-6"]] == ["kept"] * seen.kinds["IDX-SVC-6"].total()


def data_files(store: Path) -> list[Path]:
    return sorted((store / "dledger-n0" / "data").iterdir())


def entries_of(file: Path) -> list[int]:
    """Positions of the entries of a data file, each of which begins with a magic of 1 and its size."""
    data = file.read_bytes()
    found: list[int] = []
    position = 0
    while int.from_bytes(data[position : position + 4], "big") == 1:
        found.append(position)
        position += int.from_bytes(data[position + 4 : position + 8], "big")
    return found


def test_a_dledger_checkpoint_that_is_no_number_or_no_file(tmp_path: Path) -> None:
    store = open_store("dledger", tmp_path)
    path = store / "dledger-n0" / "checkpoint"
    path.write_text(f"endIndex={'9' * 5000}\n")
    assert judge_store(store).with_outcome("broken") == ["DLG-11"]
    os.truncate(path, 1 << 40)
    with pytest.raises(MalformedError, match=r"found 1,099,511,627,776 bytes, .* of at most 65,536 bytes"):
        judge_store(store)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(MalformedError, match="found not a regular file"):
        judge_store(store)
