"""What real 4.9.3 stores did at a start, in dispatch and in queries (`real/restarts.json`), worked out by hand.

`real/restart_scripts.py` says what lay there: records of 111 bytes at `PLACES`, three a file, each with two keys.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from make_facts import make_restarts
from restart_states import State, checkpoint, content, doubled, indexed, log, queue, units

REAL = Path(__file__).parent / "real"
T = 1_700_000_000_000
ALL = [0, 111, 222, 400, 511, 622, 800, 911]  # physical offsets of the messages
END = 1022


ATTEMPTS = 6
"""A start that makes an index file and rolls it within one millisecond gives both one name (IDX-SVC-20), which is
the clock's doing: such a script is run again."""


def scripts_of(path: Path) -> list[bytes]:
    """The file's bytes, cut before the name of each script."""
    parts = re.split(rb'(?m)^(?=\t")', path.read_bytes())
    assert len(parts) > 60
    return parts


@pytest.mark.java
def test_the_restarts_are_fresh(maven: str, tmp_path: Path) -> None:
    recorded = scripts_of(REAL / "restarts.json")
    differing = dict(enumerate(recorded))
    for _ in range(ATTEMPTS):
        make_restarts(tmp_path / "restarts.json")
        made = scripts_of(tmp_path / "restarts.json")
        assert len(made) == len(recorded)
        differing = {number: text for number, text in differing.items() if made[number] != text}
        if not differing:
            break
    assert differing == {}


# --- start --------------------------------------------------------------------------------------------


def test_refused_stores(stores: dict[str, list[State]]) -> None:
    """STORE-1, STORE-3: a failed load touches neither index nor checkpoint."""
    for name in ("log file of another length", "queue file of another length", "ext, file of another length"):
        (state,) = stores[name]
        assert (state["result"], state["checkpoint"]) == (False, None)
        assert "checkpoint" not in state["files"]
    assert "index/20200101000000001" in stores["log file of another length"][0]["files"]
    (damaged,) = stores["ext, size past the file's end"]
    assert (damaged["result"], damaged["index_files"]) == (False, 0)
    assert "checkpoint" in damaged["files"]  # recovery comes later


def test_queue_directories(stores: dict[str, list[State]]) -> None:
    """STORE-4: a queue directory whose name is no Java int is passed over."""
    (state,) = stores["queue directory that is no number"]
    assert state["result"] is True
    assert list(state["queues"]) == ["T/0"]
    assert f"consumequeue/T/x/{0:020}" in state["files"]


def test_index_load_is_not_minded(stores: dict[str, list[State]]) -> None:
    """STORE-5."""
    (state,) = stores["index directory that ends the load"]
    assert (state["result"], state["index_files"]) == (True, 1)


def test_abort_file(stores: dict[str, list[State]]) -> None:
    """STORE-2: made by the start, removed by a shutdown that is not behind."""
    load, start, shutdown, again = stores["start and shutdown"]
    assert ["abort" in state["files"] for state in (load, start, shutdown, again)] == [
        False,
        True,
        False,
        False,
    ]
    *_, behind = stores["start and shutdown, dispatch behind"]
    assert behind["do"] == "shutdown"
    assert log(behind)[1] - 222 == 78  # bytes that were not dispatched
    assert "abort" in behind["files"]
    assert struct.unpack_from(">qqq", content(shutdown, "checkpoint")) == (0, T + 40_000, 0)


def test_clean_recovery(stores: dict[str, list[State]]) -> None:
    """STORE-6: from the third file from the end to the first failure; nothing is dispatched."""
    (unseen,) = stores["clean, damage in the fourth file from the end"]
    assert log(unseen) == [0, 1311 + 111]
    (seen,) = stores["clean, damage in the third file from the end"]
    assert log(seen) == [0, 111]
    assert [name for name in seen["files"] if name.startswith("commitlog/")] == [f"commitlog/{0:020}"]
    (zeros,) = stores["clean, file of zeros at the end"]
    assert log(zeros) == [0, 400]
    assert f"commitlog/{400:020}" in zeros["files"]
    assert all(state["queues"] == {} and state["index_files"] == 0 for state in (unseen, seen, zeros))


def test_checksums_at_recovery(stores: dict[str, list[State]]) -> None:
    """STORE-7: the third record of that log begins at 111 + 101."""
    assert log(stores["clean, wrong checksum"][0]) == [0, 111]
    assert log(stores["clean, wrong checksum, unchecked"][0]) == [0, 111 + 101 + 92]


def test_torn_records(stores: dict[str, list[State]]) -> None:
    """STORE-8: zeros in the properties are no failure, zeros in the lengths are one."""
    (properties,) = stores["unclean, torn in the properties"]
    assert log(properties) == [0, 333]
    assert [unit[0] for unit in units(properties)] == [0, 111, 222]
    assert indexed(properties) == doubled([0, 111])
    (lengths,) = stores["unclean, torn before the lengths"]
    assert log(lengths) == [0, 222]
    assert queue(lengths) == [0, 2, 222]


def test_queues_behind_and_ahead(stores: dict[str, list[State]]) -> None:
    """STORE-9: queues are truncated when one of them ends at the log's end or behind it."""
    (at_end,) = stores["clean, queue at the log's end"]
    assert queue(at_end) == [0, 5, 622]
    assert queue(at_end, "Empty/0") == [0, 1, 0]  # truncated: its first unit of zeros now counts (CQ-TRUNC-3)
    (behind,) = stores["clean, queue behind the log"]
    assert queue(behind) == [0, 4, 511]
    assert queue(behind, "Empty/0") == [0, 0, -1]
    (ahead,) = stores["clean, queue ahead of the log"]
    assert queue(ahead) == [0, 5, 622]
    assert list(ahead["files"]).count(f"consumequeue/T/0/{100:020}") == 0


def test_no_log(stores: dict[str, list[State]]) -> None:
    """STORE-10: all queues go, index files stay, or go by the rule of an unclean exit."""
    (clean,) = stores["no log"]
    assert [name for name in clean["files"] if name.startswith("consumequeue")] == []
    assert clean["index_files"] == 1
    (unclean,) = stores["no log, unclean"]
    assert [name for name in unclean["files"] if name.startswith(("consumequeue", "index"))] == []


def test_first_file_of_unclean_recovery(stores: dict[str, list[State]]) -> None:
    """STORE-11: the newest file whose first record is old enough; dispatch begins at that file's start."""
    from_file = {
        "unclean, no checkpoint": 0,
        "unclean, bound at the second file": 3,
        "unclean, bound 1 ms before the second file": 0,
        "unclean, logics time counts": 0,
        "unclean, bound behind everything": 6,
        "unclean, index time is not minded": 3,
        "unclean, messageIndexSafe": 0,
        "unclean, messageIndexSafe, index time at the file": 3,
        "unclean, store time 0 at the second file": 0,
    }
    for name, first in from_file.items():
        (state,) = stores[name]
        assert indexed(state) == doubled(ALL[first:]), name
        assert [unit[0] for unit in units(state)] == ALL, name
        assert queue(state) == [0, 8, END], name
    (kept,) = stores["unclean, index file kept"]
    assert indexed(kept) == [911, 911]  # only the last message is let through again (IDX-SVC-8)


def test_files_behind_the_end(stores: dict[str, list[State]]) -> None:
    """STORE-12: a file made ahead goes unless the file before it ends in a blank; gaps are not noticed."""
    (ahead,) = stores["unclean, next file made ahead"]
    assert [name for name in ahead["files"] if name.startswith("commitlog")] == [f"commitlog/{0:020}"]
    (full,) = stores["unclean, file of zeros at the end"]
    assert f"commitlog/{400:020}" in full["files"]
    (gap,) = stores["unclean, missing file in the middle"]
    assert gap["result"] is True
    assert [unit[0] for unit in units(gap)] == [0, 111, 222, 800, 911]


def test_minimum_at_start(stores: dict[str, list[State]]) -> None:
    """STORE-13: the queues' minimum follows the commit log's first file."""
    assert queue(stores["clean, first files deleted"][0]) == [3, 8, END]


def test_delayed_messages_at_recovery(stores: dict[str, list[State]]) -> None:
    """STORE-15: the tag's hash instead of the delivery time."""
    (recovered,) = stores["unclean, delayed message"]
    assert units(recovered, "SCHEDULE_TOPIC_XXXX/0") == [(0, 127, 2598919)]
    *_, dispatched = stores["clean, delayed message"]
    assert units(dispatched, "SCHEDULE_TOPIC_XXXX/0") == [(0, 127, T + 60_000)]


# --- dispatch -----------------------------------------------------------------------------------------


def test_dispatch_of_whole_files(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-8: record after record, and from a blank to the next file."""
    *_, state = stores["dispatch, two files"]
    assert state["result"] == 622
    assert units(state) == [(place, 111, 0) for place in ALL[:5]]
    assert indexed(state) == doubled(ALL[:5])
    *_, state = stores["dispatch, from the second record"]
    assert (state["result"], indexed(state)) == (622, doubled(ALL[1:5]))
    *_, state = stores["dispatch, at the end"]
    assert (state["result"], state["queues"], state["index_files"]) == (622, {}, 0)
    *_, state = stores["dispatch, wrong checksum"]
    assert [unit[0] for unit in units(state)] == [0]


def test_dispatch_from_before_the_log(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-9."""
    *_, state = stores["dispatch, from before the log"]
    assert (log(state)[0], state["result"]) == (400, END)
    assert indexed(state) == doubled(ALL[3:])


def test_dispatch_of_a_length_mismatch(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-10: the position moves by 112, the buffer by 111 and the count of bytes read by nothing."""
    master, slave = (stores[f"dispatch, length mismatch{role}"][-1] for role in ("", ", slave"))
    for state in (master, slave):
        assert [unit[0] for unit in units(state)] == [0, 222]
        assert indexed(state) == doubled([0, 222])
    at_the_end = 111 + 112 + 111
    assert slave["result"] == at_the_end
    assert master["result"] == at_the_end + (333 - 2 * 111)  # the bytes that it takes for unread
    assert log(master)[1] == 333


def test_dispatch_of_a_bad_magic(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-11: a master passes over the rest of the buffer, a slave stays."""
    assert [stores[f"dispatch, bad magic{role}"][-1]["result"] for role in ("", ", slave")] == [333, 111]
    for role in ("", ", slave"):
        assert [unit[0] for unit in units(stores[f"dispatch, bad magic{role}"][-1])] == [0]


def test_dispatchers(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-12: the queue first, then the index, which can be off; types as in LOG-DSP-7 and IDX-SVC-9."""
    *_, state = stores["dispatch, transaction types"]
    assert [unit[0] for unit in units(state)] == [0, 222, 511]  # NOT, COMMIT, NOT
    assert indexed(state) == doubled([0, 111, 222, 511])  # and PREPARED
    *_, state = stores["dispatch, without index"]
    assert (len(units(state)), state["index_files"]) == (5, 0)


def test_dispatch_twice(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-13: queues skip what they have, the index takes the last message again."""
    *_, state = stores["dispatch, twice"]
    assert [unit[0] for unit in units(state)] == ALL[:5]
    assert indexed(state) == doubled([*ALL[:5], 511])


def test_exceptions_stop_dispatch(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-14: the position stays, and the same record comes again."""
    _, *tries = stores["dispatch, index that cannot be made"]
    for state in tries:
        assert state["thrown"] == "IllegalMonitorStateException"
        assert [unit[0] for unit in units(state)] == [0]
        assert state["flags"] == 0


def test_notifying_light_queues_stops_dispatch(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-18: on the settings of a default broker; every try adds the key again, a restart goes on after the record."""
    odd = 98
    _, _, *tries, _, restarted = stores["arriving, offset that is no number"]
    for number, state in enumerate(tries, 1):
        assert state["thrown"] == "NumberFormatException"
        assert [unit[0] for unit in units(state)] == [0, odd]
        assert indexed(state) == [0, *[odd] * number]
    assert [unit[0] for unit in units(restarted)] == [0, odd, 246]
    assert indexed(restarted) == [0, odd, odd, odd, 246]
    for name in (
        "offset that is no number, slave",
        "offset that is no number, long polling off",
        "fewer offsets than queues",
        "blank offset",
    ):
        _, _, first, *_ = stores[f"arriving, {name}"]
        assert "thrown" not in first
        assert len(units(first)) == 3


def test_times_of_the_checkpoint(stores: dict[str, list[State]]) -> None:
    """CQ-PUT-9: the queues' time, and on a slave the log's too."""
    assert checkpoint(stores["dispatch, two files"][-1]) == [0, T + 40_000, 0]
    assert checkpoint(stores["dispatch, slave role"][-1]) == [T + 40_000, T + 40_000, 0]


def test_queue_that_cannot_be_made(stores: dict[str, list[State]]) -> None:
    """CQ-PUT-10: 30 tries, each with an ext unit of its own, then the flag; the index goes on."""
    *_, state = stores["dispatch, queue that cannot be made"]
    ext = content(state, f"consumequeue_ext/T/0/{0:020}")
    assert ext == struct.pack(">hqqh", 20, 0, T, 0) * 30 + bytes(4096 - 600)
    assert (state["flags"], state["result"]) == (4, 111)
    assert indexed(state) == [0, 0]
    assert checkpoint(state) == [0, 0, 0]


def test_error_flags(stores: dict[str, list[State]]) -> None:
    """CQ-PUT-11: after the index error no unit is written, and the queues' error flag is set too."""
    *_, state = stores["dispatch, after the index error"]
    assert (queue(state), units(state)) == ([0, 0, -1], [])
    assert state["flags"] == 8 | 4
    assert indexed(state) == doubled(ALL[:5])


def test_multi_dispatch(stores: dict[str, list[State]]) -> None:
    """CQ-LMQ-1 to CQ-LMQ-4."""
    *_, state = stores["multi-dispatch"]
    assert state["queues"] == {"%LMQ%a/0": "[0,1,162]", "%LMQ%b/0": "[3,4,162]", "T/1": "[0,1,162]"}
    assert units(state, "%LMQ%b/0") == [(0, 0x7FFFFFFF, 0)] * 3 + [(0, 162, 0)]
    assert list(stores["multi-dispatch, LMQ off"][-1]["queues"]) == ["%LMQ%a/1", "%LMQ%b/1", "T/1"]
    assert list(stores["multi-dispatch, off"][-1]["queues"]) == ["T/1"]
    *_, state = stores["multi-dispatch, offset 0 again"]
    assert [unit[:2] for unit in units(state, "%LMQ%a/0")] == [(0, 162), (162, 146)]
    *_, state = stores["multi-dispatch, fewer offsets than queues"]
    assert (list(state["queues"]), state["result"]) == (["T/0"], 160)
    *_, state = stores["multi-dispatch, delayed"]
    for topic in ("%LMQ%a/0", "SCHEDULE_TOPIC_XXXX/0"):
        assert units(state, topic) == [(0, 172, T + 60_000)]


def test_multi_dispatch_after_a_restart(stores: dict[str, list[State]]) -> None:
    """CQ-LMQ-4: of four messages after the restart only the first gets into the LMQ queue."""
    sent = [state for state in stores["multi-dispatch, restarted"] if state["do"] == "send"]
    assert [state["result"][2] for state in sent] == ["0", "1", "2", "0", "1", "2", "3"]
    assert [queue(state, "%LMQ%a/0")[1] for state in sent] == [1, 2, 3, 4, 4, 4, 4]
    assert [queue(state)[1] for state in sent] == [1, 2, 3, 4, 5, 6, 7]


def test_multi_dispatch_stops(stores: dict[str, list[State]]) -> None:
    """CQ-LMQ-5: no properties, or an offset that is no number."""
    *_, state = stores["multi-dispatch, no properties"]
    assert (state["thrown"], units(state)) == ("NullPointerException", [])
    *_, state = stores["multi-dispatch, offset that is no number"]
    assert (state["thrown"], len(units(state))) == ("NumberFormatException", 1)


def test_ext_queue(stores: dict[str, list[State]]) -> None:
    """CQ-EXT-6 to CQ-EXT-8."""
    unit = [struct.pack(">hqqh", 20, code, T, 0) for code in range(10)]
    first = -(1 << 63)
    *_, state = stores["ext, repeated put"]
    assert content(state, f"consumequeue_ext/T/0/{0:020}") == unit[7] * 2 + unit[8] + bytes(10)
    assert units(state) == [(0, 100, first), (100, 100, first + 40)]
    _, known, lost, put = stores["ext, recovered"]
    assert (known["result"], lost["result"]) == (7, None)
    assert [name for name in put["files"] if "_ext" in name] == [f"consumequeue_ext/T/0/{0:020}"]
    assert content(put, f"consumequeue_ext/T/0/{0:020}") == unit[7] + unit[9] + bytes(30)
    *_, state = stores["ext, truncated with the queue"]
    assert units(state) == [(0, 100, first), (100, 100, first + 40)]
    assert stores["ext, size past the file's end"][0]["result"] is False


def test_offset_by_time(stores: dict[str, list[State]]) -> None:
    """CQ-TIME-1, CQ-TIME-2: units at T, T + 10 s, ..., five in the first file and three in the second."""
    _, *states = stores["by time"]
    found = [state["result"] for state in states]
    assert found[:10] == [
        0,
        0,
        0,
        0,
        0,
        1,
        1,
        1,
        3,
        4,
    ]  # 4999 and 5000 ms after T the first is as near, or nearer
    assert found[10:12] == [4, 4]  # message 7 has the time asked for, but is in the second file
    assert found[12] == 7  # after the files were written
    _, *states = stores["by time, first files deleted"]
    assert [state["result"] for state in states] == [3, 3]
    assert stores["by time, no file"][-1]["result"] == 0
    _, put, *states = stores["by time, file without a unit"]
    assert [name for name in put["files"] if name.startswith("consumequeue/")] == [
        f"consumequeue/T/0/{start:020}" for start in (0, 100)
    ]
    assert [state["result"] for state in states] == [0, 0]


# --- query --------------------------------------------------------------------------------------------


def test_message_query(stores: dict[str, list[State]]) -> None:
    """QRY-1 to QRY-3: three messages with one key, twice in the last of them."""
    _, _, everything, two, other, window, none, negative = stores["query"]
    last = {"last_update_timestamp": T + 20_000, "last_update_phy_offset": 202}
    nothing = {"phy_offsets": [], "last_update_timestamp": 0, "last_update_phy_offset": 0}
    assert everything["result"] == {"phy_offsets": [0, 101, 202, 202], **last}
    assert two["result"] == {"phy_offsets": [202, 202], **last}
    assert other["result"] == none["result"] == nothing
    assert window["result"] == {"phy_offsets": [101], **last}
    assert negative["thrown"] == "IllegalArgumentException"


def test_message_query_over_damage(stores: dict[str, list[State]]) -> None:
    """QRY-4."""

    def found(what: str) -> list[int]:
        offsets: list[int] = stores[f"query, {what}"][-1]["result"]["phy_offsets"]
        return offsets

    assert found("lowest hit does not decode") == [101, 202, 202]
    assert found("another hit does not decode") == [0, 101, 202, 202]
    assert found("magic of the lowest hit") == [0, 101, 202, 202]
    assert (
        found("size of another hit leaves the log") == found("negative size of another hit") == [0, 202, 202]
    )
    assert found("only hit does not decode") == []
    result = stores["query, only hit does not decode"][-1]["result"]
    assert (result["last_update_timestamp"], result["last_update_phy_offset"]) == (T, 0)


def test_names_of_queue_directories(stores: dict[str, list[State]]) -> None:
    """STORE-4: `007` and `+3` name queues 7 and 3, whose files would be in `V/7` and `W/3`; `T/5` is a regular file."""
    loaded, dispatched = stores["queue names"]
    assert {name: queue(loaded, name) for name in ("T/5", "V/7", "W/3", "W/-1")} == {
        "T/5": [0, 0, -1],
        "V/7": [0, 0, -1],
        "W/3": [0, 0, -1],
        "W/-1": [0, 1, 222],
    }
    assert content(dispatched, "consumequeue/T/5") == b"x"
    for name in ("V/007", "W/+3"):
        assert units(dispatched, name) == [(0, 111, 0)]


# --- errors -------------------------------------------------------------------------------------------


def test_errors_end_dispatch(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-15, LOG-DSP-14: an Error ends the thread, an exception does not; either way the position stays."""
    *_, ended = stores["error in a dispatcher"]
    assert (ended["result"], queue(ended), log(ended)) == (True, [0, 1, 111], [0, 222])
    *_, lives = stores["exception in a dispatcher"]
    assert (lives["result"], queue(lives), log(lives)) == (False, [0, 1, 111], [0, 222])


def test_huge_sizes_end_dispatch(stores: dict[str, list[State]]) -> None:
    """LOG-DSP-16: a record of 2147483647 bytes at 111; the one that follows it is stored, and not dispatched."""
    *_, ended, _, later = stores["huge size, met by the thread"]
    assert ended["result"] is True
    assert (queue(later), log(later)) == ([0, 1, 111], [0, 333])
    assert indexed(later) == doubled([0])


def test_huge_sizes_fail_the_load(stores: dict[str, list[State]]) -> None:
    """STORE-16: wherever recovery reads such a record; in the fourth file from the end a clean start does not."""
    for exit_ in ("clean", "unclean"):
        (state,) = stores[f"huge size, {exit_}"]
        assert state["thrown"] == "OutOfMemoryError"
        assert log(state) == [0, 400]  # nothing of the log was cut off
        assert units(state) == [(0, 111, 0)]
    assert indexed(stores["huge size, unclean"][0]) == doubled([0])
    assert stores["huge size, clean, in the fourth file from the end"][0]["result"] is True


# --- settings that change the store -------------------------------------------------------------------


def test_several_log_directories(stores: dict[str, list[State]]) -> None:
    """STORE-17."""
    loaded, dispatched, _, rolled, folders = stores["paths, two"]
    assert log(loaded) == [0, END]
    assert [offset for offset, _, _ in units(dispatched)] == ALL
    assert rolled["result"] == f"b/{1200:020}"  # 1200 / 400 is odd
    assert f"a/{1600:020}" in folders["files"]  # made ahead
    assert "a," in folders["result"]  # the text of both paths taken as one
    for spread in ("names out of order", "a third that is read-only", "one is missing"):
        assert log(stores[f"paths, {spread}"][0]) == [0, END]
    *_, rolled = stores["paths, one of them read-only"]
    assert rolled["result"] == f"b/{1200:020}"
    assert f"b/{1600:020}" in rolled["files"]
    assert log(stores["paths, one, and one that is read-only"][0]) == [
        0,
        333,
    ]  # b, which has 400, is not read
    assert stores["paths, one name twice"][0]["result"] is True


def test_duplication(stores: dict[str, list[State]]) -> None:
    """STORE-18: nothing is dispatched that the confirm offset, -1 at first, does not allow."""
    _, nothing, _, a_buffer = stores["duplication, dispatch"]
    assert (nothing["result"], nothing["queues"]) == (0, {})
    assert (a_buffer["result"], queue(a_buffer)) == (400, [0, 3, 333])  # confirmed up to 1 only
    *_, confirmed = stores["duplication, confirmed at a file's start"]
    assert (confirmed["result"], queue(confirmed)) == (400, [0, 3, 333])
    (unclean,) = stores["duplication, unclean"]
    assert (queue(unclean), unclean["index_files"]) == ([0, 2, 222], 0)
    *_, start = stores["duplication, start"]
    assert (start["result"], start["queues"], "abort" in start["files"]) == (False, {}, False)
    *_, start = stores["duplication, start with nothing to dispatch"]
    assert (start["result"], "abort" in start["files"]) == (True, True)


def queue_names(state: State) -> set[str]:
    return {"/".join(name.split("/")[1:3]) for name in state["files"] if name.startswith("consumequeue/")}


def test_expired_queues(stores: dict[str, list[State]]) -> None:
    """STORE-19: the log begins at 400; V ends there, W has no unit, T/1 and the others end at 222."""
    before, after, loaded = stores["whole queues, expired"]
    stay = {"T/0", "V/0", "W/0", "SCHEDULE_TOPIC_XXXX/0"}
    gone = {"T/1", "U/0", "RMQ_SYS_TRANS_HALF_TOPIC/0", "RMQ_SYS_TRANS_OP_HALF_TOPIC/0", "%LMQ%x/0"}
    assert set(before["queues"]) == queue_names(before) == stay | gone
    assert set(after["queues"]) == queue_names(after) == stay
    assert set(loaded["queues"]) == stay
    assert queue(before, "V/0") == [0, 1, 400]


def test_ext_files_before_the_minimum(stores: dict[str, list[State]]) -> None:
    """CQ-MIN-3: units 0 to 4 lead to ext files 0, 70, ..., 280 of 70 bytes; the log begins at unit 3."""

    def ext_files(what: str) -> list[int]:
        (state,) = stores[f"ext, minimum with {what}"]
        assert queue(state) == [3, 5, 622]
        return [int(name[-20:]) for name in state["files"] if name.startswith("consumequeue_ext/")]

    assert ext_files("an address") == [140, 210, 280]  # 140 ends where the address 210 begins
    assert ext_files("a plain code") == [0, 70, 140, 210, 280]


def test_ext_units_that_are_not_written(stores: dict[str, list[State]]) -> None:
    """CQ-EXT-9, CQ-TAGS-3: files of 70 bytes; 66 fit, 67 do not, 32768 are not tried."""
    *_, state = stores["ext, unit longer than a file"]
    first = -(1 << 63)
    assert units(state) == [(0, 100, first), (100, 100, 8), (200, 100, first + 210)]
    folder = "consumequeue_ext/T/0"
    small = struct.pack(">hqqh", 20, 7, T, 0)
    assert content(state, f"{folder}/{0:020}") == (small + b"\xff\xff").ljust(70, b"\0")
    for start in (70, 140):
        assert content(state, f"{folder}/{start:020}") == b"\xff\xff".ljust(70, b"\0")
    assert content(state, f"{folder}/{210:020}") == struct.pack(">hqqh", 66, 9, T, 46).ljust(70, b"\0")
    *_, state = stores["ext, unit longer than any"]
    assert units(state) == [(0, 100, 7)]
    assert not any(name.startswith("consumequeue_ext") for name in state["files"])
