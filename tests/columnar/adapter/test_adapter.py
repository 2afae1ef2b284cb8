"""The engine behind adapter protocol 1. The suite runs on it, with every vector, in `tests/cli/transcripts/conform.md`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.adapter import Adapter

T = 1_700_000_000_000
OPEN: dict[str, Any] = {
    "op": "index.open",
    "file": "20260101000000000",
    "hash_slot_num": 7,
    "index_num": 12,
    "end_phy_offset": "0",
    "end_timestamp": "0",
    "load": False,
}
PUT = {"op": "index.put", "key": "T#k", "phy_offset": "0", "store_timestamp": str(T)}
SELECT = {"op": "index.select", "key": "T#k", "max_num": 32, "begin": "0", "end": "9223372036854775807"}


def run(directory: Path, *ops: dict[str, Any]) -> list[dict[str, Any]]:
    answer = Adapter().handle({"cmd": "case", "id": "17", "dir": str(directory), "ops": list(ops)})
    assert answer is not None
    assert answer["id"] == "17"
    assert len(answer["results"]) == len(ops)
    results: list[dict[str, Any]] = answer["results"]
    return results


def test_hello_and_bye() -> None:
    hello = Adapter().handle({"cmd": "hello", "protocol": 1, "suite": "0.1.0"})
    assert hello is not None
    assert (hello["protocol"], hello["geometry"], hello["features"]) == (1, "any", ["lone_surrogates"])
    assert {"key.hash", "index.open", "index.put", "index.select"} <= set(hello["ops"])
    assert Adapter().handle({"cmd": "bye"}) is None
    with pytest.raises(ValueError, match="dance"):
        Adapter().handle({"cmd": "dance"})


def test_verdicts_that_are_no_results(tmp_path: Path) -> None:
    results = run(
        tmp_path,
        PUT,
        OPEN | {"file": "not-a-number"},
        OPEN | {"hash_slot_num": 0},
        PUT,
        {"op": "index.close"},
        {"op": "index.close"},
        {"op": "queue.put"},
        PUT,
        OPEN,
        {"op": "index.put"},
    )
    kinds = [next(iter(result), "ok") for result in results]
    assert kinds == [
        "rejected",
        "rejected",
        "ok",
        "rejected",
        "ok",
        "rejected",
        "unsupported",
        "rejected",
        "ok",
        "errored",
    ]


def test_a_rejected_open_leaves_nothing_open(tmp_path: Path) -> None:
    assert "rejected" in run(tmp_path, OPEN, OPEN | {"file": "x"}, PUT)[2]
    tiny = OPEN | {"hash_slot_num": -10, "index_num": 0, "load": True}
    assert "rejected" in run(tmp_path, OPEN, tiny, PUT)[2]


def test_a_child_process_speaks_json_lines(tmp_path: Path) -> None:
    case = {
        "cmd": "case",
        "id": "1",
        "dir": str(tmp_path),
        "ops": [OPEN, PUT | {"key": "漢"}, SELECT | {"key": "漢"}],
    }
    lines = [{"cmd": "hello", "protocol": 1, "suite": "0.1.0"}, case, {"cmd": "bye"}]
    done = subprocess.run(
        [sys.executable, "-m", "rocket_columnar.adapter"],
        input="\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\r\n",
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    hello, answer = map(json.loads, done.stdout.splitlines())
    assert hello["name"] == "rocketspec engine"
    assert answer["results"] == [{}, {"put": True}, {"offsets": ["0"]}]
