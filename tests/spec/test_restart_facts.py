"""What real 4.9.3 stores did at a start, in dispatch and in queries (`real/restarts.json`), worked out by hand.

`real/restart_scripts.txt` says what lay there: records of 111 bytes at `PLACES`, three a file, each with two keys.
"""

import re
from pathlib import Path

import pytest
from make_facts import make_restarts
from restart_states import State, doubled, indexed, log, queue, units

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
@pytest.mark.soak
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


# --- dispatch -----------------------------------------------------------------------------------------


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
    started = {name: stores[f"arriving at a start, {name}"][-1] for name in STARTS}
    assert {name: state["result"] for name, state in started.items()} == STARTS
    assert [unit[0] for unit in units(started["type 0"])] == [0, 111]  # and the next start continues after it


STARTS = {
    "type 4": False,
    "type 4, a number": True,
    "type 0": False,
    "type 0, unclean": True,
    "type 12, unclean": False,
    "type 12, then a message": False,
    "type 12, then a message, unclean": True,
    "type 12, then a message, unclean, no units": True,
}
"""Whether a start returns, by the record whose offset is no number, and the exit before."""


def test_multi_dispatch_after_a_restart(stores: dict[str, list[State]]) -> None:
    """CQ-LMQ-4: of four messages after the restart only the first gets into the LMQ queue."""
    sent = [state for state in stores["multi-dispatch, restarted"] if state["do"] == "send"]
    assert [state["result"][2] for state in sent] == ["0", "1", "2", "0", "1", "2", "3"]
    assert [queue(state, "%LMQ%a/0")[1] for state in sent] == [1, 2, 3, 4, 4, 4, 4]
    assert [queue(state)[1] for state in sent] == [1, 2, 3, 4, 5, 6, 7]


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


# --- flushes and expiry ---------------------------------------------------------------------------------


def test_the_time_of_the_log(stores: dict[str, list[State]]) -> None:
    """CKP-6: whether all of the log is flushed, and how many of the records are at or before the checkpoint's time of the log."""
    states = {
        name: stores[f"log time, {name}"]
        for name in ("flushes that are not thorough", "thorough flushes", "group commits")
    }
    found = {
        name: [state["result"] for state in of if state["do"] == "log_time"] for name, of in states.items()
    }
    assert found == {
        "flushes that are not thorough": [[True, 0], [True, 0]],  # the second one after the stop
        "thorough flushes": [[True, 0], [True, 1], [True, 2]],
        "group commits": [[True, 0], [True, 1], [True, 2]],
    }


def test_expiry_waits_for_the_log(stores: dict[str, list[State]]) -> None:
    """STORE-26: a first index file in use keeps both that are expired; a second run does nothing, a direct expiry deletes them."""
    *runs, direct = stores["expiry while the log's start stays"]
    assert [state["do"] for state in runs] == ["load", "hold_index", "clean", "sleep", "clean"]
    assert [state["index_files"] for state in runs] == [3] * 5
    assert direct["index_files"] == 1
