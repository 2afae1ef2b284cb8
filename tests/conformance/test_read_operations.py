"""What decoders are asked: the expectations on golden files are what Java said, those on damaged ones are worked out by hand."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from changed_adapter import ChangedAdapter
from rocket_conformance.cases import Case, directed_cases
from rocket_conformance.comparison import expect
from rocket_conformance.protocol import OBJECTS, OPERATIONS
from rocket_conformance.report import conclusion
from rocket_conformance.running import Options, run
from rocket_conformance.transport import AdapterError, open_handler
from rocket_spec.tables import TABLES

STORES = ("ipv6", "lmq", "mixed", "small-roll", "transactions")
READERS = ("index.read", "queue.read", "log.read", "checkpoint.read")


@cache
def cases() -> Mapping[str, Case]:
    return {case.id: case for case in directed_cases() if "/read-" in case.id}


@cache
def truth(store: str) -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """The lines of a store's truth by type and file."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in rocket_golden.truth(store):
        found[line["type"], line.get("file", "checkpoint")].append(line)
    return found


def as_said(kind: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a truth line that a kind of object has, 64-bit integers as they travel."""
    return {
        name: str(line[name]) if field in {"i64", "i64?"} and line[name] is not None else line[name]
        for name, field in OBJECTS[kind].items()
        if name in line
    }


def results(case: Case, tmp_path: Path) -> tuple[dict[str, Any], ...]:
    return expect(case, tmp_path / "case").results


@pytest.mark.parametrize("store", STORES)
def test_entries_and_headers_are_what_java_said(store: str, tmp_path: Path) -> None:
    case = cases()[f"IDX-ENT-1/read-{store}"]
    for op, result in zip(case.ops, results(case, tmp_path), strict=True):
        [header] = truth(store)["index_header", op["file"]]
        assert result["header"] == as_said("index_header", header)
        assert result["entries"] == [
            as_said("index_entry[]", line)
            | {"store_timestamp": str(header["begin_timestamp"] + 1000 * line["time_diff"])}
            for line in truth(store)["index_entry", op["file"]]
        ]


@pytest.mark.parametrize(
    ("clause", "field", "kind", "more"),
    [("CQ-UNIT-1", "units", "queue_unit", {"pre_blank": False}), ("LOG-REC-1", "records", "log_record", {})],
)
@pytest.mark.parametrize("store", STORES)
def test_units_and_records_are_what_java_said(
    store: str, clause: str, field: str, kind: str, more: dict[str, Any], tmp_path: Path
) -> None:
    case = cases()[f"{clause}/read-{store}"]
    form = "record[]" if kind == "log_record" else "queue_unit[]"
    for op, result in zip(case.ops, results(case, tmp_path), strict=True):
        lines = truth(store)[kind, op["file"]]
        assert result[field] == [as_said(form, line) | more for line in lines]


@pytest.mark.parametrize("store", STORES)
def test_checkpoints_are_what_java_said(store: str, tmp_path: Path) -> None:
    case = cases()[f"CKP-1/read-{store}"]
    [line] = truth(store)["checkpoint", "checkpoint"]
    names = OPERATIONS["checkpoint.read"].result
    assert results(case, tmp_path) == ({name: str(line[name]) for name in names},)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("IDX-ENT-1/read-mixed-index-header-count-high", 199),  # of 200, entry 0 is none
        ("IDX-ENT-1/read-mixed-index-header-count-low", 99),
        ("IDX-ENT-1/read-mixed-index-size-short", None),
        ("CQ-UNIT-1/read-mixed-queue-size", None),
    ],
)
def test_a_damaged_file_shows_its_count_of_entries_or_is_rejected(
    name: str, count: int | None, tmp_path: Path
) -> None:
    [result] = results(cases()[name], tmp_path)
    assert ("rejected" in result) if count is None else (len(result["entries"]) == count)


@pytest.mark.parametrize(
    ("name", "end", "wrong"), [("magic", 90_553, []), ("length", 26_615, []), ("crc", 1 << 20, ["30207"])]
)
def test_records_of_a_damaged_log(name: str, end: int, wrong: list[str], tmp_path: Path) -> None:
    """They end at the one whose frame is damaged; a wrong checksum ends nothing."""
    case = cases()[f"LOG-REC-1/read-mixed-log-{name}"]
    [result] = results(case, tmp_path)
    [file] = case.files
    before = [line["phy_offset"] for line in truth("mixed")["log_record", file] if line["phy_offset"] < end]
    assert [int(record["phy_offset"]) for record in result["records"]] == before != []
    assert [record["phy_offset"] for record in result["records"] if not record["crc_ok"]] == wrong


def test_a_tool_that_only_reads_is_a_partial_run() -> None:
    hello = {"name": "viewer", "ops": list(READERS), "features": ["read_only"]}
    with open_handler(ChangedAdapter(hello), check_schema=True) as transport:
        report = run(transport, Options(examples=2))
    assert report.exit_code == 0
    assert {line.verdict for line in report.cases} == {"pass", "not_applicable"}
    passed = {line.id for line in report.cases if line.verdict == "pass"}
    assert cases().keys() <= passed
    assert conclusion(report).startswith("partial run: ")
    for name in READERS:
        assert name in conclusion(report)


def test_an_adapter_in_this_process_is_held_to_the_schema() -> None:
    """An operation that is declared twice breaks it."""
    twice = ChangedAdapter({"ops": ["key.hash"] * 2})
    with open_handler(twice), pytest.raises(AdapterError, match=r"adapter_message\.json"):
        open_handler(twice, check_schema=True).__enter__()


def test_fields_are_columns_of_the_tables() -> None:
    for kind, table in (
        ("index_header", "index_headers"),
        ("index_entry[]", "index_entries"),
        ("queue_unit[]", "consume_queue"),
        ("record[]", "commit_log"),
    ):
        types = {column.name: column.type for column in TABLES[table]}
        for name, field in OBJECTS[kind].items():
            wanted = {
                "i32": "int32", "i64": "int64", "i64?": "int64", "bool": "bool", "string": "string",
                "string?": "string", "base64": "binary", "texts": "map",
            }[field]  # fmt: skip
            assert types[name] == wanted, f"{table}.{name}"
        others = {"file", "topic", "queue_id", "hash_slot_num", "index_num"}
        assert types.keys() - OBJECTS[kind].keys() <= others
