"""What adapters declare: a port without some operation, or with limits, is asked for the rest, and fails nothing for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from changed_adapter import ChangedAdapter
from rocket_conformance.properties import PROPERTIES
from rocket_conformance.protocol import FEATURES, LIMITS, OPERATIONS
from rocket_conformance.report import Report
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_handler


class Limited(ChangedAdapter):
    """The reference with a hello of its own, that refuses what it did not declare."""

    def __init__(self, hello: Mapping[str, Any]) -> None:
        super().__init__(hello, self.without)

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if message["cmd"] == "case":
            refuse(message, self.hello)
        return super().handle(message)

    def without(self, answer: dict[str, Any], _message: object) -> None:
        if "no_tags_code" in self.hello.get("features", ()):
            for record in (item for result in answer["results"] for item in result.get("records", ())):
                record["tags_code"] = None
        if "non_null_keys" in self.hello.get("features", ()):
            for request in (item for result in answer["results"] for item in result.get("requests", ())):
                request.update({name: "" for name in ("keys", "uniq_key") if request[name] is None})


def refuse(message: Mapping[str, Any], hello: Mapping[str, Any]) -> None:
    """Raises where a case asks for what the hello rules out, each feature read as PROTOCOL.md words it."""
    features = set(hello.get("features", ()))
    directory = Path(message["dir"])
    opened: set[str] = set()
    for op in message["ops"]:
        assert op["op"] in hello.get("ops", OPERATIONS)
        where = op.get("file") or f"consumequeue/{op.get('topic')}/{op.get('queue_id')}"
        if op["op"] in {"index.open", "queue.open"}:
            exists = where in opened or (directory / where).exists()
            opened.add(where)
            assert not ("no_reload_choice" in features and exists and not op["load"])
        if "no_seeds" in features and op["op"] == "index.open":
            assert (op["end_phy_offset"], op["end_timestamp"]) == ("0", "0")
        if "positive_geometry" in features:
            assert all(op.get(name, 1) >= 1 for name in ("hash_slot_num", "index_num", "file_size"))
        if "unsigned_sizes" in features and op["op"] == "queue.put":
            assert op["size"] >= 0
        if "non_null_keys" in features:
            assert all(op.get(name, "") is not None for name in ("keys", "uniq_key", "tags"))


def run_on(hello: Mapping[str, Any], **options: Any) -> Report:
    with open_handler(Limited(hello)) as transport:
        return run(transport, Options(**{"examples": 2, "shrink_seconds": 0, **options}))


def applicable(report: Report) -> int:
    return sum(line.verdict != "not_applicable" for line in report.cases)


@pytest.mark.parametrize("feature", LIMITS)
def test_a_limit_is_never_a_failure(feature: str) -> None:
    select = ["IDX-FILE-*", "IDX-LOAD-*", "IDX-PUT-10/*", "IDX-SVC-*", "CQ-*", "LOG-DSP-*", "CKP-*"]
    report = run_on({"features": ["lone_surrogates", feature]}, select=select)
    assert {line.verdict for line in report.cases} <= {"pass", "not_applicable"}
    assert report.exit_code == 0
    ruled_out = [line for line in report.cases if line.verdict == "not_applicable"]
    assert ruled_out or feature == "no_tags_code"
    assert {line.detail for line in ruled_out} <= {
        f"ruled out by the feature {feature}", "every list asks for what the adapter rules out",
    }  # fmt: skip
    assert applicable(report) > 0.6 * len(report.cases)


@pytest.mark.parametrize(
    "missing", ["index.header", "index.full", "index.flush", "index.time_matched", "queue.bounds"]
)
def test_a_port_without_one_operation_runs_nearly_all_properties(missing: str) -> None:
    ops = sorted(OPERATIONS.keys() - {missing})
    using = [item for item in PROPERTIES if missing in item.ops]
    report = run_on({"ops": ops}, select=[item.id for item in using])
    assert {line.verdict for line in report.cases} <= {"pass", "not_applicable"}
    assert applicable(report) >= len(using) - 1


@pytest.mark.parametrize("hello", [{"geometry": [[7, 12]]}, {"queue_file_size": [60]}])
def test_what_fails_is_not_made_smaller_into_what_is_ruled_out(
    hello: Mapping[str, Any], tmp_path: Path
) -> None:
    """A port that is wrong about everything: a smaller list would have one slot, or files of 40 bytes."""
    sizes = hello.get("queue_file_size", []) + [
        number for pair in hello.get("geometry", []) for number in pair
    ]
    ruled_out: list[Mapping[str, Any]] = []

    class Wrong(Limited):
        def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
            for op in message.get("ops", ()):
                asked = {op[name] for name in ("hash_slot_num", "index_num", "file_size") if name in op}
                ruled_out.extend([op] if sizes and not asked <= {*sizes} else [])
            answer = super().handle(message)
            for result in (answer or {}).get("results", ()):
                result.update({name: not result[name] for name in ("put", "full") if name in result})
                result.update({"max": "-7"} if "max" in result else {})
            return answer

    select = ["IDX-PUT-6/prop-lists" if "geometry" in hello else "CQ-LOAD-1/prop-odd-files"]
    with open_handler(Wrong(hello)) as transport:
        report = run(transport, Options(select=select, examples=6, shrink_seconds=8), report=tmp_path)
    assert {line.verdict for line in report.cases} == {"diverged"}
    assert ruled_out == []


def test_the_protocol_page_names_each_feature() -> None:
    page = (Path(__file__).parents[2] / "conformance" / "PROTOCOL.md").read_text(encoding="utf-8")
    for name, meaning in FEATURES.items():
        assert f"| `{name}` | {meaning} |" in page
