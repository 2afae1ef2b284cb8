"""Clauses about DLedger mode and several commit-log directories, shown on what real 4.9.3 brokers wrote."""

import itertools
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
import rocket_golden
from golden_truth import Line, lines
from rocket_spec import construct_schemas
from rocket_spec.layout import ENTRY_INDEX_FILE_SIZE

FRAMED = ("dledger", "dledger-expired", "dledger-group", "dledger-group-killed", "dledger-group-rejoined")
"""Stores whose whole log has entry headers."""
ALL = (*FRAMED, "dledger-upgraded")


def bounds(store: str) -> Line:
    (line,) = lines(store)["dledger"]
    return line


@pytest.fixture(params=ALL)
def store(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=FRAMED)
def framed(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_places_and_names(framed: str) -> None:
    """DLG-1."""
    manifest = rocket_golden.manifest().stores[framed]
    member = manifest.config["dLegerSelfId"]
    logs = [file for file in manifest.files if file.kind == "log"]
    assert {str(PurePosixPath(file.file).parent) for file in logs} == {f"dledger-{member}/data"}
    offsets = [int(PurePosixPath(file.file).name) for file in logs]
    size = int(manifest.config["mappedFileSizeCommitLog"])
    assert {file.size for file in logs} == {size}
    assert offsets == list(range(offsets[0], offsets[0] + len(offsets) * size, size))
    assert [PurePosixPath(file.file).name for file in logs] == [f"{offset:020}" for offset in offsets]
    assert not any(file.file.startswith("commitlog") for file in manifest.files)


def test_entry_headers(store: str) -> None:
    """DLG-2, DLG-3."""
    entries = lines(store)["log_entry"]
    assert len(entries) > 40
    for entry in entries:
        assert entry["size"] == 48 + entry["body_size"]
        assert (entry["magic"], entry["channel"], entry["chain_crc"], entry["body_crc"]) == (1, 0, 0, 0)
    for name, found in itertools.groupby(entries, lambda entry: entry["file"]):
        position = int(PurePosixPath(name).name)
        for entry in found:
            assert entry["pos"] == position
            position += entry["size"]


def test_offsets_are_those_of_the_records(store: str) -> None:
    """DLG-4: records, dispatch requests, units and index entries point behind the header."""
    entries = {entry["pos"] + 48: entry for entry in lines(store)["log_entry"]}
    divided = min(entries) - 48
    records = [record for record in lines(store)["log_record"] if record["phy_offset"] >= divided]
    assert [record["phy_offset"] for record in records] == list(entries)
    assert all(record["size"] == entries[record["phy_offset"]]["body_size"] for record in records)
    for line in lines(store)["queue_unit"]:
        if line["phy_offset"] >= divided:
            assert line["size"] == entries[line["phy_offset"]]["body_size"]
    for line in lines(store)["dispatch"]:
        if line["commit_log_offset"] >= divided:
            assert line["msg_size"] == entries[line["commit_log_offset"]]["body_size"]
    indexed = {line["phy_offset"] for line in lines(store)["index_entry"] if line["phy_offset"] >= divided}
    assert indexed
    assert indexed <= set(entries)


def test_blanks(store: str, golden_store: Callable[[str], Path]) -> None:
    """DLG-5."""
    marks = lines(store)["log_end_mark"]
    following = {line["pos"]: line["size"] for line in lines(store)["log_entry"]}
    for mark in marks:
        path = golden_store(store) / mark["file"]
        start = mark["pos"] - int(path.name)
        size = path.stat().st_size
        assert mark["size"] == size - start >= 8
        assert path.read_bytes()[start:] == b"\xff\xff\xff\xff" + mark["size"].to_bytes(4, "big") + bytes(
            mark["size"] - 8
        )
        assert following[int(path.name) + size] + 8 > mark["size"]
    assert len(marks) == len({line["file"] for line in lines(store)["log_entry"]}) - 1


def test_the_index_of_entries(store: str, golden_store: Callable[[str], Path]) -> None:
    """DLG-6: its units are those of the entries; the bytes are the file's."""
    (file,) = lines(store)["entry_index_file"]
    entries = lines(store)["log_entry"]
    assert file["size"] == ENTRY_INDEX_FILE_SIZE == 167_772_160
    assert file["used"] == 32 * (entries[-1]["index"] + 1)
    with (golden_store(store) / file["file"]).open("rb") as opened:
        opened.seek(32 * entries[0]["index"])
        for entry in entries:
            unit = construct_schemas.ENTRY_INDEX_UNIT.parse(opened.read(32))
            assert unit == {name: entry[name] for name in ("magic", "pos", "size", "index", "term")}
        assert not any(opened.read(1 << 16))


def test_numbers_and_terms(store: str) -> None:
    """DLG-7."""
    entries = lines(store)["log_entry"]
    first, last = bounds(store)["begin_index"], bounds(store)["end_index"]
    assert [entry["index"] for entry in entries] == list(range(first, last + 1))
    assert all(before["term"] <= after["term"] for before, after in itertools.pairwise(entries))
    assert entries[-1]["term"] == bounds(store)["end_term"]
    if store in ("dledger-group", "dledger-group-rejoined"):
        assert len({entry["term"] for entry in entries}) >= 3


def test_members_hold_the_same_bytes(golden_store: Callable[[str], Path]) -> None:
    """DLG-8: a follower that saw everything, the killed leader, and the same after its return."""
    members = [
        {path.name: path.read_bytes() for path in golden_store(name).glob("dledger-n*/data/*")}
        for name in ("dledger-group", "dledger-group-rejoined", "dledger-group-killed")
    ]
    assert len(members[0]) == 5
    assert members[0] == members[1]
    *full, last = sorted(members[2])
    assert all(members[2][name] == members[0][name] for name in full)
    used = members[2][last].rstrip(b"\0")
    assert members[0][last].startswith(used)
    headers = [
        [{**line, "file": ""} for line in lines(name)["index_header"]]
        for name in ("dledger-group", "dledger-group-rejoined")
    ]
    assert headers[0] != headers[1]


def test_walking_the_files(store: str) -> None:
    """DLG-9: what the real class read, step by step, is what the entries say; plain files are read as such."""
    for file in lines(store)["log_file"]:
        entries = [line for line in lines(store)["log_entry"] if line["file"] == file["file"]]
        records = [line for line in lines(store)["log_record"] if line["file"] == file["file"]]
        assert (not entries) == file["file"].startswith("commitlog/")
        assert len(entries) in (0, len(records))
        assert file["used"] == sum(line["size"] for line in entries or records)


def test_what_is_committed(store: str, golden_store: Callable[[str], Path]) -> None:
    """DLG-10, DLG-11: the number in the text file gives the position; killed, it is seconds behind."""
    (text,) = golden_store(store).glob("dledger-n*/checkpoint")
    values = dict(line.split("=") for line in text.read_text("ascii").split())
    committed = int(values["committedIndex"])
    found = bounds(store)
    assert found["committed_index"] == committed
    ends = {line["index"]: line["pos"] + line["size"] for line in lines(store)["log_entry"]}
    assert found["committed_pos"] == found["max_offset"] == ends[committed]
    if store == "dledger-group-killed":
        last = max(line["max_physic_offset"] for line in lines(store)["queue"])
        assert found["committed_pos"] < last < found["write_pos"]
    else:
        assert int(values["endIndex"]) == committed == found["end_index"]
        assert found["committed_pos"] == found["write_pos"]


def test_expired_files() -> None:
    """DLG-12."""
    found = bounds("dledger-expired")
    files = lines("dledger-expired")["log_file"]
    assert found["min_offset"] == files[0]["base_offset"] == 3 * 4096
    (index,) = lines("dledger-expired")["entry_index_file"]
    assert (index["base_offset"], index["start"]) == (0, 32 * found["begin_index"])
    assert found["begin_index"] > 0
    gone = {line["file"].split("/")[0] for line in lines("dledger-expired")["deleted"]}
    assert gone == {"dledger-n0", "consumequeue", "index"}
    for queue in lines("dledger-expired")["queue"]:
        units = [
            unit
            for unit in lines("dledger-expired")["queue_unit"]
            if (unit["topic"], unit["queue_id"]) == (queue["topic"], queue["queue_id"])
        ]
        kept = [unit["logical_offset"] for unit in units if unit["phy_offset"] >= found["min_offset"]]
        assert 0 < queue["min"] <= kept[0]


def test_a_restart_loses_index_files() -> None:
    """DLG-13: every message has its unit again, the keys of the deleted file are gone."""
    found = lines("dledger-group-rejoined")
    gone = [line["file"] for line in found["deleted"] if line["by"] == "restart"]
    assert gone
    assert all(name.startswith("index/") for name in gone)
    queued = {unit["phy_offset"] for unit in found["queue_unit"]}
    indexed = {entry["phy_offset"] for entry in found["index_entry"]}
    records = [record["phy_offset"] for record in found["log_record"]]
    assert queued == set(records)
    again = [line["commit_log_offset"] for line in found["dispatch"] if line["start"] == 2]
    first = [line["commit_log_offset"] for line in found["dispatch"] if line["start"] == 1]
    assert again == records[len(first) :]
    assert len(set(records) - indexed) > 0
    assert set(again) <= indexed


def test_an_upgraded_store(golden_store: Callable[[str], Path]) -> None:
    """DLG-14."""
    found = lines("dledger-upgraded")
    divided = bounds("dledger-upgraded")["divided_offset"]
    plain = [line for line in found["log_file"] if line["file"].startswith("commitlog/")]
    framed = [line for line in found["log_file"] if line["file"].startswith("dledger-n0/data/")]
    assert [*plain, *framed] == found["log_file"]
    assert plain[-1]["base_offset"] + plain[-1]["size"] == divided == framed[0]["base_offset"]
    assert {line["ends_in"] for line in plain} == {"blank"}
    blank = found["log_blank"][-1]
    raw = (golden_store("dledger-upgraded") / blank["file"]).read_bytes()[
        blank["phy_offset"] - plain[-1]["base_offset"] :
    ]
    assert raw == len(raw).to_bytes(4, "big") + bytes.fromhex("cbd43194") + bytes(len(raw) - 8)
    assert blank["size"] == len(raw) > 500
    assert bounds("dledger-upgraded")["begin_index"] == 0
    assert bounds("dledger-upgraded")["min_offset"] == plain[0]["base_offset"] == 0
    assert {unit["phy_offset"] < divided for unit in found["queue_unit"]} == {True, False}


def test_queries_end_at_the_committed_position() -> None:
    """DLG-15."""
    committed = bounds("dledger-group-killed")["committed_pos"]
    dropped = 0
    for query in lines("dledger-group-killed")["query"]:
        if query["messages"]:
            assert query["messages"] == sorted(o for o in query["offsets"] if o < committed)
        dropped += sum(offset >= committed for offset in query["offsets"])
    assert dropped > 100


def test_the_checkpoint_follows_dispatch() -> None:
    """DLG-16: it has the time of the last record that got a unit, of a record without one it does not."""
    for name in ("dledger", "dledger-expired", "dledger-group"):
        (point,) = lines(name)["checkpoint"]
        times = {record["phy_offset"]: record["store_timestamp"] for record in lines(name)["log_record"]}
        last = max(unit["phy_offset"] for unit in lines(name)["queue_unit"])
        assert point["physic_msg_timestamp"] == point["logics_msg_timestamp"] == times[last]
