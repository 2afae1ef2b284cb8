"""The adapter on the real RocketMQ store: it passes the suite, follows the protocol, and lets go of every file.

What each operation answers is held by the recorded cases (tests/golden/test_vectors.py) and by `test_reference_vs_jar.py`.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from changed_adapter import open_index
from child_adapter import Adapter, Json, held_files
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.rocketmq import command
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_jar

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("maven")]

PUT: Json = {"op": "index.put", "key": "k", "phy_offset": "7", "store_timestamp": "1700000000123"}
SELECT: Json = {"op": "index.select", "key": "k", "max_num": 32, "begin": "0", "end": "9223372036854775807"}
FULL: Json = {"op": "index.full"}
CLOSE: Json = {"op": "index.close"}
HUGE = (1 << 30) - 5
"""Slots of a file without entries whose size wraps to less than a header."""


@pytest.fixture(scope="module")
def adapter() -> Iterator[Adapter]:
    adapter = Adapter(command("4.9.3"))
    adapter.hello()
    yield adapter
    adapter.stop()


@pytest.mark.parametrize(
    ("select", "examples"), [("*-1/*", 15), pytest.param("*", 100, marks=pytest.mark.soak)]
)
def test_4_9_3_passes(select: str, examples: int) -> None:
    """The first clause of each family; every recorded case is run by tests/golden/test_vectors.py, through this adapter."""
    with open_jar("4.9.3") as transport:
        report = run(transport, Options(seed=20, select=[select], examples=examples))
    others = {line.detail for line in report.cases if line.verdict != "pass"}
    assert others == {f"not declared: {name}" for name in ("index.read", "queue.read", "log.read")}
    assert report.footer is not None
    assert report.footer["families"] == ["index", "service", "queue", "log", "checkpoint"]
    assert report.exit_code == 0
    assert {line.verdict for line in report.cases} == {"pass", "not_applicable"}


# --- protocol -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["bye", "end of input"])
def test_hello_and_the_end(end: str) -> None:
    adapter = Adapter(command("4.9.3"))
    hello = adapter.hello()
    if end == "bye":
        adapter.tell({"cmd": "bye"})
    else:
        assert adapter.process.stdin is not None
        adapter.process.stdin.close()
        adapter.process.stdin = None
    assert adapter.process.wait(20) == 0
    adapter.stop()
    assert set(hello.pop("ops")) == {
        name for name in OPERATIONS if name == "checkpoint.read" or ".read" not in name
    }
    assert hello == {
        "protocol": 1, "name": "rocketmq-store", "version": "4.9.3", "language": "java", "geometry": "any",
        "features": ["lone_surrogates"], "max_in_flight": 16,
    }  # fmt: skip


def test_what_is_unsupported_errored_and_rejected(adapter: Adapter, tmp_path: Path) -> None:
    """An unknown operation, fields that are missing or wrong, what 4.9.3 throws, and operations on nothing open."""
    adapter.results(tmp_path, open_index())  # a case starts with nothing open
    results = adapter.results(
        tmp_path, FULL, {"op": "index.guess"}, open_index(0, 3), PUT, {"op": "index.put", "key": "a"},
        open_index(file="abc"), CLOSE, FULL,
    )  # fmt: skip
    assert [next(iter(result), "") for result in results] == [
        "rejected", "unsupported", "", "rejected", "errored", "rejected", "rejected", "rejected",
    ]  # fmt: skip
    assert results[3]["rejected"] == "ArithmeticException: / by zero"
    assert "phy_offset" in results[4]["errored"]
    assert results[5]["rejected"].startswith("NumberFormatException: ")


# --- files --------------------------------------------------------------------------------------------

QUEUE: Json = {"op": "queue.open", "topic": "T", "queue_id": 3, "file_size": 60, "load": False}
SERVICE: Json = {
    "op": "service.open", "hash_slot_num": 7, "index_num": 2, "last_exit_ok": True, "index_msg_timestamp": "0",
}  # fmt: skip
TIMES = {"physic_msg_timestamp": "1", "logics_msg_timestamp": "2", "index_msg_timestamp": "3"}


def unit(number: int) -> Json:
    fields = {"offset": str(10 * number), "size": 10, "tags_code": "0", "cq_offset": str(number)}
    return {"op": "queue.put", **fields}


def build(number: int) -> Json:
    fields = {"topic": "T", "uniq_key": None, "keys": "k", "store_timestamp": "1000", "sys_flag": 0}
    return {"op": "service.build", "commit_log_offset": str(number), **fields}


@pytest.mark.parametrize(
    "ops",
    [
        pytest.param([open_index(), PUT], id="open"),
        pytest.param([open_index(0, 3), SELECT, SELECT], id="held by failed selects"),
        pytest.param([open_index(), open_index(load=True), CLOSE], id="opened twice"),
        pytest.param([open_index(HUGE, 0, end_phy_offset="5")], id="half constructed"),
        pytest.param([open_index(HUGE, 0, load=True)], id="half loaded"),
        pytest.param([open_index(HUGE - 5, 0), {"op": "index.flush"}], id="empty mapping"),
        pytest.param(
            [QUEUE, *map(unit, range(7)), {"op": "queue.get", "cq_offset": "1"}, {**QUEUE, "load": True},
             {"op": "queue.truncate", "phy_offset": "30"}, {"op": "queue.last_offset"}],
            id="queue",
        ),
        pytest.param([SERVICE, build(0), build(1), SERVICE], id="service"),
        pytest.param([{"op": "checkpoint.write", **TIMES}, {"op": "checkpoint.read"}], id="checkpoint"),
    ],
)  # fmt: skip
def test_files_are_released(adapter: Adapter, tmp_path: Path, ops: list[Json]) -> None:
    adapter.case(tmp_path, *ops)
    deadline = time.monotonic() + 10  # a half-made object is freed by the collector's own thread
    while (held := held_files(adapter.process.pid, tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held == []
