"""What the real 4.9.3 does at the edges of the clauses (`real/restarts.json`, `facts.json`, `dledger.json`), worked out by hand.

`real/restart_scripts.txt` says what lay there: mostly records of 111 bytes, three a file of 400 bytes.
"""

from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from real_broker import run_program
from restart_states import State, indexed, log, queue, units
from rocket_spec import construct_schemas, kaitai

Facts = dict[str, Any]
Stores = dict[str, list[State]]
PRE_BLANK = (0, 0x7FFFFFFF, 0)


def offsets(state: State, name: str = "T/0") -> list[int]:
    return [offset for offset, _, _ in units(state, name)]


def ext_files(state: State) -> list[int]:
    return [int(name[-20:]) for name in state["files"] if name.startswith("consumequeue_ext/")]


# --- files that are deleted, and files in use -----------------------------------------------------------


def test_files_in_use(facts: Facts, stores: Stores) -> None:
    """STORE-21, CQ-DEL-1."""
    *_, deleted, released, again = stores["in use, queue that is deleted"]
    for state in (deleted, released, again):
        assert f"consumequeue/T/0/{0:020}" in state["files"]
    assert deleted["queues"] == released["queues"] == {}
    assert queue(again) == [0, 3, 333]
    *_, expired = stores["in use, first file of three"]
    assert expired["result"] == 0
    *_, expired = stores["not in use, first file of three"]
    assert expired["result"] == 2
    assert facts["append_after_the_last_release"] == "SIGSEGV"


def test_deleting_a_light_topic(stores: Stores) -> None:
    """STORE-20: the topic has the queues 0 and 1, and U has one."""
    _, deleted, again = stores["unused, a light topic"]
    assert set(deleted["queues"]) == {"U/0"}
    assert {name for name in deleted["files"] if "LMQ" in name} == {f"consumequeue/%LMQ%a/1/{0:020}"}
    assert set(again["queues"]) == {"U/0", "%LMQ%a/1"}


def test_a_query_over_a_wrong_size(stores: Stores) -> None:
    """QRY-5: the second of three hits has a negative size; 120 s, and then 1 ms, are the interval."""
    *_, asked, expired, _, forced = stores["query of a wrong size"]
    assert asked["result"]["phy_offsets"] == [0, 202]
    assert (expired["result"], forced["result"]) == (0, 1)
    for name, deleted, hits in (
        ("query of right sizes", 1, [0, 101, 202]),
        ("query of a size beyond the file", 0, [0, 202]),
        ("query, lowest of a negative size", 0, [101, 202]),
        ("query, lowest of a size beyond the file", 1, [101, 202]),
        ("query of 2 bytes of a record", 0, [0, 101]),
    ):
        (found,) = [state["result"] for state in stores[name] if state["do"] == "query"]
        assert (stores[name][-1]["result"], found["phy_offsets"]) == (deleted, hits), name


# --- dispatch -------------------------------------------------------------------------------------------


def test_a_length_mismatch_before_a_blank(dledger: dict[str, Facts]) -> None:
    """LOG-DSP-10, in DLedger mode; of plain logs the scripts `mismatch of N before a blank` show it."""
    whole = dledger["no queues"]["dispatched"]
    entries = [line for line in rocket_golden.truth("dledger") if line["type"] == "log_entry"]
    files = sorted({entry["file"] for entry in entries})
    skipped = [entry for entry in entries if entry["file"] == files[-1]]
    for more in (48, 5000):
        found = dledger[f"no queues, total size of a record {more:+}"]
        assert found["dispatched_to"] == 8192 * len(files)
        # the damaged record, and all of the last file
        assert sum(whole.values()) - sum(found["dispatched"].values()) == 1 + len(skipped)


def test_names_of_light_queues(stores: Stores) -> None:
    """CQ-LMQ-1; LOG-DSP-18: an empty offset between others."""

    def named(queues: str, at: str) -> dict[str, int]:
        *_, state = stores[f"names {queues!r} at {at!r}"]
        return {name: queue(state, name)[0] for name in state["queues"] if name != "T/0"}

    assert named("q1,", "5") == named("q1,,", "5,") == {"q1/0": 5}
    assert named(",q1", "5,6") == {"/0": 5, "q1/0": 6}
    assert named("q1,,q2", "5,6,7") == {"q1/0": 5, "/0": 6, "q2/0": 7}
    *_, once, twice = stores["arriving, empty offset between"]
    assert once["thrown"] == twice["thrown"] == "NumberFormatException"
    assert [len(indexed(state)) for state in (once, twice)] == [1, 2]
    assert (
        stores["arriving, record of type 12"][-1]["result"] is False
    )  # it has no unit: the start never returns


def test_pre_blank_units_stop_dispatch(stores: Stores) -> None:
    """STORE-14: queue T has two pre-blank units and nothing else; U is sent to, and gets its unit at the next load."""
    *_, sent, _, again = stores["queue of pre-blank units alone"]
    assert queue(again, "U/0") == [0, 1, 222 + 93]
    assert sent["result"][0] == "PUT_OK"
    assert log(sent) == [0, 222 + 93]
    assert set(sent["queues"]) == {"T/0"}
    assert queue(sent) == [0, 2, 0x7FFFFFFF]


def test_a_record_longer_than_its_file(stores: Stores) -> None:
    """LOG-BLANK-3: files of 400 bytes, and the second body has 400."""
    *_, first, long, third, _, again = stores["record longer than its file"]
    assert [state["result"][0] for state in (first, long, third)] == ["PUT_OK"] * 3
    assert [log(state)[1] for state in (first, long, third)] == [93, 800, 893]
    assert offsets(again) == [0, 800]


# --- ext queues -----------------------------------------------------------------------------------------


def test_ext_switched_off(stores: Stores) -> None:
    """CQ-EXT-11: the ext units have the codes 11 and 22, and a consumer asks for TagA; STORE-3."""
    *_, pulled, put = stores["ext off, over addresses"]
    assert pulled["result"] == [0, 1]
    assert [code for _, _, code in units(put)] == [-(1 << 63), -(1 << 63) + 20, 5]
    assert ext_files(put) == [0]
    assert stores["ext on, over addresses"][-1]["result"] == []
    assert stores["ext off, file of another length"][0]["result"] is True


# --- start and shutdown ---------------------------------------------------------------------------------


def test_a_full_disk_keeps_the_abort_file(stores: Stores) -> None:
    """STORE-2; CQ-PUT-11: the record that was stored before has its unit."""
    *_, names = stores["disk full at the shutdown"]
    assert "abort" in names["result"]
    assert queue(names) == [0, 1, 93]


def test_a_second_start(stores: Stores) -> None:
    """STORE-22: records of 100 bytes, three a file; the keys k0 to k3 twice."""
    live = [f"{start:020}" for start in (0, 400, 800)]
    for name, after in (("second start", live[:2]), ("no second start", live)):
        found = [state["result"] for state in stores[name] if state["do"] == "names"]
        assert found[0] == live
        assert found[-2] == [*after, f"{1200:020}"]
    alone, met = stores["no second start"], stores["second start"]
    (second,) = [state for state in met if state["do"] == "second_start"]
    assert second["result"] == "true, Lock failed,MQ already started"
    assert all(state["result"][0] == "PUT_OK" for state in met if state["do"] == "send")
    assert [log(states[-1]) for states in (alone, met)] == [[0, 1000], [0, 700]]
    assert [queue(states[-1])[1] for states in (alone, met)] == [8, 6]
    asked = [
        [state["result"]["phy_offsets"] for state in states if state["do"] == "query"]
        for states in (alone, met)
    ]
    assert asked == [[[0, 500], [0, 500]], [[0, 500], [0]]]
    more = stores["second start, more messages"][-1]  # 800 to 1100 are gone, 1200 to 1500 are not
    assert (more["result"], log(more), queue(more)) == (True, [0, 1500], [0, 12, 1500])


def test_a_directory_of_the_whole_text(stores: Stores) -> None:
    """STORE-23, STORE-17."""
    folders = stores["paths, two"][-1]["result"]
    assert "a," in folders
    *_, state = stores["paths, all read-only"]
    assert state["thrown"] == "ArithmeticException"
    ends = {
        name: log(stores[f"paths, {name}"][0])[1]
        for name in ("an empty part", "a blank before a name", "a blank at the end")
    }
    assert ends == {"an empty part": 733, "a blank before a name": 333, "a blank at the end": 733}


def test_delay_levels_that_do_not_parse(stores: Stores) -> None:
    """STORE-24: the queues are recovered either way."""
    parses = {
        "1s 5s": True, "1s ": True, "-1s": True, "1s  5s": False, "1s 5": False, "1S": False, " 1s": False,
    }  # fmt: skip
    for levels, loads in parses.items():
        (state,) = stores[f"delay levels {levels!r}"]
        assert state["result"] is loads, levels
        assert queue(state) == [0, 5, 622]
    offsets = (b"", b'{"offsetTable":{}}')
    loads_with = [stores[f"delay offsets {text!r}, bad copy"][0]["result"] for text in offsets]
    assert loads_with == [False, True]


def test_other_files_of_a_store(stores: Stores, tmp_path: Path) -> None:
    """STORE-25."""
    *_, names = stores["disk full at the shutdown"]
    assert sorted(names["result"]) == [
        "abort",
        "checkpoint",
        "commitlog",
        "config",
        "consumequeue",
        "index",
        "lock",
    ]
    store = rocket_golden.open_store("dledger", tmp_path)
    found = {path.name for path in (store / "dledger-n0").iterdir()}
    assert found >= {"data", "index", "checkpoint", "currterm"}
    lines = (store / "dledger-n0/currterm").read_text("ascii").splitlines()
    assert sorted(line.partition("=")[0] for line in lines if line[0] != "#") == ["currTerm", "voteLeader"]


@pytest.mark.java
def test_how_texts_are_written(maven: str, tmp_path: Path) -> None:
    """STORE-25: a file is deleted before FILE.tmp takes its name; if the `.bak` cannot be written, FILE.tmp stays beside it."""
    assert maven
    printed = run_program(Path(__file__).parent / "real" / "Writes.java", tmp_path)
    assert printed.splitlines() == [
        f"{writer} {line}"
        for writer in ("MixAll", "IOUtils")
        for line in (
            "first +G.tmp -G.tmp +G",
            "second +F.tmp +F.bak -F -F.tmp +F F.bak=1",
            "text F.bak=a\ufffd",
            "empty F.bak=",
            "stopped G=1 G.tmp=2",
        )
    ]


def test_minus_signs_of_file_names(facts: Facts) -> None:
    """CQ-FILE-2: -20 as a file's offset; only the first is a Java long (`Long.parseLong` takes an ASCII sign alone)."""
    names = facts["negative_names"]
    assert names["en-US"] == f"-{20:020}"
    assert names["sv-SE"] == names["lt-LT"] == f"\u2212{20:020}"
    assert names["ar-EG"].startswith("\u061c-\u0660")


def test_digits_of_file_names(facts: Facts) -> None:
    """IDX-SVC-4, CQ-FILE-2: 20 as a file's offset, and one time, by locale and by the release whose data are taken."""
    plain = "00000000000000000020 20231114221320123"
    arabic = plain.translate({ord("0") + n: 0x660 + n for n in range(10)})
    hindi = plain.translate({ord("0") + n: 0x966 + n for n in range(10)})
    found = {(case["locale"], case["data"]): case["names"] for case in facts["older_names"]}
    assert found == {
        ("ar-EG", "COMPAT"): plain, ("ar-EG", "CLDR"): arabic, ("hi-IN", "COMPAT"): hindi, ("hi-IN", "CLDR"): plain,
    }  # fmt: skip


# --- DLedger mode ---------------------------------------------------------------------------------------


def test_entries_of_odd_sizes(dledger: dict[str, Facts]) -> None:
    """DLG-17: the log ends before an entry of 0 or 44 bytes; one of 45 passes and makes the load fail."""
    whole = dledger["whole"]
    for name in ("size 0 and body size -48", "size 44 and body size -4"):
        assert dledger[name]["loaded"]
        assert dledger[name]["end_index"] == dledger["magic+7"]["end_index"] < whole["end_index"]
    assert dledger["size 45 and body size -3"]["loaded"] is False
    found = dledger["no blank in the third file from the end"]
    assert found["write_pos"] == 8192 * (len(whole["log_files"]) - 2)


def test_queues_beyond_the_committed_position(dledger: dict[str, Facts]) -> None:
    """DLG-10: after a kill the checkpoint says less than what is dispatched already."""
    found = dledger["committed index 90"]
    assert found["max_offset"] < max(end for _, end in found["queues"].values())


def test_a_rebuilt_index_of_entries(dledger: dict[str, Facts]) -> None:
    """DLG-6: zeros before the first unit; DLG-20: a number of 2^40 in the first entry deletes the index of entries."""
    found = dledger["no index of entries, no first files"]
    assert found["first_units"] == {f"dledger-n0/index/{0:020}": found["begin_index"]}
    assert found["begin_index"] == 88
    assert dledger["number 2^40 of the first entry of the first file"]["first_units"] == {}


def test_units_before_the_first_that_is_in_use() -> None:
    """DLG-6: both schemas pass over the zeros of a rebuilt index."""
    rows = [{"magic": 1, "pos": 100 * n, "size": 100, "index": n, "term": 1} for n in (26, 27)]
    data = (
        bytes(32 * 26) + b"".join(construct_schemas.ENTRY_INDEX_UNIT.build(row) for row in rows) + bytes(64)
    )
    found = construct_schemas.DLEDGER_INDEX.parse(data)
    assert (found["units"], found["before"]) == (rows, bytes(32 * 26))
    assert construct_schemas.DLEDGER_INDEX.build(found) == data
    for whole, used in ((data, [26, 27]), (data[32 * 26 :], [26, 27]), (bytes(96), [])):
        units = kaitai.DledgerIndex.from_bytes(whole).units
        assert [unit.index for unit in units if unit.is_in_use] == used


def test_a_huge_size_at_the_first_start(dledger: dict[str, Facts]) -> None:
    """LOG-DSP-16."""
    assert dledger["first start over a record of a huge size"]["thrown"] == "OutOfMemoryError"


def test_no_light_queues_in_dledger_mode(dledger: dict[str, Facts]) -> None:
    """DLG-21: three messages name a light queue, with both settings on."""
    found = dledger["puts by a leader"]
    assert statuses(found) == "PUT_OK OS_PAGECACHE_BUSY PUT_OK PUT_OK"
    assert found["light_queue_properties"] == [3, 0]


def statuses(found: Facts) -> str:
    return " ".join(status for status, _ in found["puts"])


def test_an_entry_longer_than_its_file(dledger: dict[str, Facts]) -> None:
    """DLG-22: files of 8192 bytes; the second body has 8192 bytes, or makes an entry of 8187 or 8192 bytes."""
    exact = "puts by a leader, one of a file's length"
    assert statuses(dledger[exact]) == "PUT_OK OS_PAGECACHE_BUSY PUT_OK PUT_OK"
    assert len(dledger[exact]["log_files"]) == len(dledger["whole"]["log_files"]) + 3
    found = dledger["puts by a leader, one of about a file's length"]
    assert statuses(found) == "PUT_OK OS_PAGECACHE_BUSY UNKNOWN_ERROR UNKNOWN_ERROR"
    for name in ("puts by a leader", "puts by a leader, one of about a file's length"):
        assert len(dledger[name]["log_files"]) == len(dledger["whole"]["log_files"]) + 2


@pytest.mark.parametrize(
    ("name", "tags_codes"),
    [
        ("shorter unit over a longer one", [7, 9, int.from_bytes(bytes(range(0xA1, 0xA9)), signed=True)]),
        ("shorter unit over one that leads out of the file", [7, 9]),
        ("size of -2 after the last unit", [7, 9]),
        ("recovered", [7, 9]),
    ],
)
def test_ext_files_that_a_recovery_left(stores: Stores, name: str, tags_codes: list[int]) -> None:
    """CQ-EXT-5: both schemas read a file in which the rest of a longer unit follows the last one, as a unit if it looks like one."""
    files = stores[f"ext, {name}"][-1]["files"]
    text = str(files[f"consumequeue_ext/T/0/{0:020}"])
    data = bytes.fromhex(text.partition(":")[2]).ljust(70, b"\0")
    read = construct_schemas.EXT_FILE.parse(data)
    assert [unit["tags_code"] for unit in read["units"]] == tags_codes
    assert construct_schemas.EXT_FILE.build(read) == data
    found = kaitai.ConsumequeueExt.from_bytes(data).units
    assert [unit.tags_code for unit in found if unit.is_unit] == tags_codes


def test_the_rest_of_a_longer_unit_stops_the_next_start(stores: Stores) -> None:
    """CQ-EXT-8: `40 00` is read as a unit of 16,384 bytes, and the load fails; `00 14` as one of 20."""
    last = {
        name: stores[f"ext, shorter unit over {name}"][-1]["result"]
        for name in ("a longer one", "one that leads out of the file")
    }
    assert last == {"a longer one": True, "one that leads out of the file": False}
