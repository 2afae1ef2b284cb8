"""A diverging list is made small, and its replay file shows the same again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocket_conformance.plan import Planned
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.replays import read_replay
from rocket_conformance.runner import Options, run, run_planned
from rocket_conformance.session import open_handler


class ForgetsEmoji(ReferenceAdapter):
    """Puts of keys beyond the basic plane are dropped, silently."""

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if message["cmd"] != "case":
            return super().handle(message)
        ops = [
            {"op": "index.full"}
            if op["op"] == "index.put" and any(ord(char) > 0xFFFF for char in op.get("key", ""))
            else op
            for op in message["ops"]
        ]
        answer = super().handle({**message, "ops": ops})
        assert answer is not None
        for place, (op, sent) in enumerate(zip(message["ops"], ops, strict=True)):
            if op is not sent and "full" in answer["results"][place]:
                answer["results"][place] = {"put": not answer["results"][place]["full"]}
        return answer


def shrunk(folder: Path) -> dict[str, Any]:
    with open_handler(ForgetsEmoji()) as transport:
        report = run(transport, Options(select=["IDX-PUT-6/prop-lists"], examples=20), report=folder)
    [line] = report.cases
    assert line.verdict == "diverged"
    assert line.examples == 20
    assert line.replay is not None
    document: dict[str, Any] = json.loads((folder / line.replay).read_bytes())
    assert document["divergence"] == [dict(item) for item in line.divergence]
    return document


def test_a_diverging_list_shrinks_to_what_matters(tmp_path: Path) -> None:
    document = shrunk(tmp_path)
    assert [op["op"] for op in document["ops"]] == ["index.open", "index.put"]
    put = document["ops"][1]
    assert any(ord(char) > 0xFFFF for char in put["key"])
    assert put["phy_offset"] == "0"
    assert (
        put["store_timestamp"] == "1"
    )  # with 0 the header's begin would not differ, and another clause go first
    assert document["ops"][0]["hash_slot_num"] == 1


def test_a_replay_file_shows_the_same_divergence_and_passes_on_a_right_implementation(tmp_path: Path) -> None:
    document = shrunk(tmp_path)
    [path] = (tmp_path / "replay").iterdir()
    planned = Planned(read_replay(path))
    with open_handler(ForgetsEmoji()) as transport:
        line, again = run_planned(transport, planned, Options())
    assert line.verdict == "diverged"
    assert again is not None
    assert again["actual"] == document["actual"]
    assert again["expected"] == document["expected"]
    assert [(item["field"], item["actual"]) for item in again["divergence"]] == [
        (item["field"], item["actual"]) for item in document["divergence"]
    ]
    with open_handler(ReferenceAdapter()) as transport:
        line, again = run_planned(transport, planned, Options())
    assert (line.verdict, again) == ("pass", None)


def test_without_time_the_list_is_left_as_it_was_drawn(tmp_path: Path) -> None:
    with open_handler(ForgetsEmoji()) as transport:
        options = Options(select=["IDX-PUT-6/prop-lists"], examples=20, shrink_seconds=0)
        report = run(transport, options, report=tmp_path)
    assert report.cases[0].verdict == "diverged"
