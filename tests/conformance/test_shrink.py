"""A diverging list is made small, and its replay file shows the same again; so do those of the findings in docs."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.adapter import Adapter
from rocket_conformance.cases import Case, Observation
from rocket_conformance.counterexamples import read_replay, replay_of, write_replay
from rocket_conformance.files import image_of
from rocket_conformance.judging import Trial
from rocket_conformance.planning import Planned
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.report import describe_files
from rocket_conformance.running import Options, run, run_planned
from rocket_conformance.schema import problems
from rocket_conformance.transport import open_handler

REPLAYS = sorted((Path(__file__).parents[2] / "docs").glob("findings/*.json"))


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


def test_a_diverging_list_shrinks_to_what_matters_and_its_replay_file_shows_it(tmp_path: Path) -> None:
    with open_handler(ForgetsEmoji()) as transport:
        report = run(transport, Options(select=["IDX-PUT-6/prop-lists"], examples=20), report=tmp_path)
    [line] = report.cases
    assert (line.verdict, line.examples) == ("diverged", 20)
    path = tmp_path / str(line.replay)
    document: dict[str, Any] = json.loads(path.read_bytes())
    assert document["divergence"] == [dict(item) for item in line.divergence]
    opened, put = document["ops"]
    assert (opened["op"], opened["hash_slot_num"]) == ("index.open", 1)
    assert (put["op"], put["phy_offset"]) == ("index.put", "0")
    # with 0 the header's begin would not differ, and another clause go first
    assert put["store_timestamp"] == "1"
    assert len(put["key"]) == 1
    assert ord(put["key"]) > 0xFFFF

    planned = Planned(read_replay(path))
    with open_handler(ForgetsEmoji()) as transport:
        line, again = run_planned(transport, planned, Options())
    assert line.verdict == "diverged"
    assert again is not None
    assert (again["actual"], again["expected"]) == (document["actual"], document["expected"])
    shown, shown_again = (
        [(item["field"], item["actual"]) for item in one["divergence"]] for one in (document, again)
    )
    assert shown_again == shown
    with open_handler(ReferenceAdapter()) as transport:
        line, again = run_planned(transport, planned, Options())
    assert (line.verdict, again) == ("pass", None)


def test_a_long_replay_file_leaves_out_the_bytes_that_were_found(tmp_path: Path) -> None:
    """Bytes that do not compress: 100 KB in a file that must not be touched."""
    noise = bytes(random.Random(1).randbytes(100_000))
    case = Case("IDX-FILE-1/any", ("IDX-FILE-1",), ({"op": "index.flush"},))
    actual = Observation(({},), {"20260101000000000": image_of(noise)})
    trial = Trial(case, Observation(({},), {})).observe(actual)
    document = replay_of(trial, [])
    assert document["actual"]["files"] == {"20260101000000000": {"size": 100_000}}
    write_replay(tmp_path / "replay.json", document)
    assert (tmp_path / "replay.json").stat().st_size < 1 << 16


def test_there_are_some() -> None:
    assert len(REPLAYS) == 5


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_a_replay_file_passes_on_a_right_implementation(path: Path) -> None:
    document = json.loads(path.read_bytes())
    assert problems("case", document) == []
    assert document["divergence"]
    with open_handler(Adapter()) as transport:
        line, _ = run_planned(transport, Planned(read_replay(path)), Options())
    assert line.verdict == "pass"


class DropsPlaces(ReferenceAdapter):
    """The unit at one logical offset is lost."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self._place = str(place)

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        answer = super().handle(message)
        for place, op in enumerate(message.get("ops", ())):
            result = (answer or {}).get("results", [{}] * (place + 1))[place]
            if op["op"] == "queue.get" and result.get("unit") and op["cq_offset"] == self._place:
                result["unit"] = None
        return answer


@pytest.mark.parametrize(("name", "first"), [("00000000000000000000", 0), ("00000000000000000800", 40)])
def test_files_at_the_start_become_healthy_and_small_where_a_failure_needs_them(
    name: str, first: int
) -> None:
    """A unit is only there because of the file: an odd one of 40 units gives way to a healthy one of one unit."""
    path = f"consumequeue/T/0/{name}"
    unit = (5).to_bytes(8, "big") + (77).to_bytes(4, "big") + (-3).to_bytes(8, "big", signed=True)
    opened = {"op": "queue.open", "topic": "T", "queue_id": 0, "file_size": 800, "load": True}
    ops = (opened, {"op": "queue.bounds"}, {"op": "queue.get", "cq_offset": str(first + 1)})
    drawn = Case("CQ-GET-1/seeded-x", ("CQ-GET-1",), ops, files={path: image_of(40 * unit)})
    with open_handler(DropsPlaces(first + 1)) as transport:
        line, document = run_planned(transport, Planned(drawn), Options())
    assert document is not None
    assert line.verdict == "diverged"
    assert [op["op"] for op in document["ops"]] == ["queue.open", "queue.get"]
    assert document["ops"][1]["cq_offset"] == str(first + 1)
    texts = describe_files(document)
    assert texts == [f"file {path} exists at the start", "  unit 0: phy_offset 0, size 100, tags_code 0"]
