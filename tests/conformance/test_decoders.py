"""Decoders of commit logs: the starter passes, and each bug that real decoders have is noticed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rocket_conformance.cases import Case, directed_cases
from rocket_conformance.comparison import expect
from rocket_conformance.properties import PROPERTIES
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_handler
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

STARTER = find_data("conformance/adapters/python-decoder/decoder.py").read_text("utf-8")
FAMILIES = ("LOG-REC", "LOG-PROP", "LOG-BLANK", "UTF8")
VALUE = "        if name and value:\n"
BUGS = {
    "utf8-strict": ('.decode("utf-8", "replace")', '.decode("utf-8")'),
    "latin1": ('.decode("utf-8", "replace")', '.decode("latin-1")'),
    "surrogates-are-three": ('SURROGATE.sub(b"\\xff", data)', "data"),
    "magic-v2": ("magic != MAGIC", "magic not in (MAGIC, 0xDAA320AB)"),
    "magic-unchecked": ("magic != MAGIC", "magic >> 8 != MAGIC >> 8"),
    "crc-signed": ('"body_crc": str(read.number("I"))', '"body_crc": str(read.number("i"))'),
    "crc-unmasked": (" & 0x7FFFFFFF", ""),
    "crc-of-no-body": ("not body or zlib", "zlib"),
    "v6-one-flag": ("flags & 32", "flags & 16"),
    "topic-unsigned": ('read.take(read.number("b"))', 'read.take(read.number("B"))'),
    "properties-unsigned": ('max(read.number("h"), 0)', 'read.number("H")'),
    "negative-body": ('max(read.number("i"), 0)', 'read.number("i")'),
    "length-unchecked": ("if read.at - start != size:", "if False:"),
    "second-separator-dropped": (VALUE, "        if name and value and part.count('\\1') == 1:\n"),
    "value-cut": ("found[name] = value", "found[name] = value.partition('\\1')[0]"),
    "first-wins": (VALUE, "        if name and value and name not in found:\n"),
    "stripped": ("found[name] = value", "found[name] = value.strip()"),
    "empty-kept": (VALUE, "        if name and '\\1' in part:\n"),
    "empty-name-kept": (VALUE, "        if value:\n"),
    "i64-double": ("return int(value)", "return int(float(value)) if kind == 'q' else int(value)"),
}
"""Name, and what is changed in the starter."""


class Decoder:
    """A text of the starter, in this process."""

    def __init__(self, text: str) -> None:
        self.module: dict[str, Any] = {"__name__": "decoder"}
        exec(text, self.module)

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = self.module["handle"](message)
        return answer


def verdicts(text: str, *, examples: int) -> dict[str, set[str]]:
    options = Options(select=["LOG-*", "UTF8-*"], examples=examples, shrink_seconds=0, explained=False)
    with open_handler(Decoder(text)) as transport:
        report = run(transport, options)
    found: dict[str, set[str]] = {}
    for line in report.cases:
        found.setdefault(line.verdict, set()).add(line.id)
    return found


def test_starter_passes_everything() -> None:
    found = verdicts(STARTER, examples=100)
    assert found.keys() == {"pass", "not_applicable"}
    assert len(found["pass"]) > 100


@pytest.mark.parametrize("name", BUGS)
def test_each_bug_is_noticed_by_a_directed_case_and_a_property(name: str) -> None:
    old, new = BUGS[name]
    assert STARTER.count(old) == 1
    failing = verdicts(STARTER.replace(old, new), examples=25).get("diverged", set())
    assert any("/prop-" in case for case in failing)
    assert any("/prop-" not in case for case in failing)


def test_each_clause_of_records_has_a_case_and_a_property_for_readers() -> None:
    wanted = {
        clause.id
        for clause in clauses().values()
        if clause.evidence == "case" and clause.id.rpartition("-")[0] in FAMILIES
    }
    cases = {case.clauses[0] for case in directed_cases() if case.op_names == {"log.read"}}
    assert wanted - cases == set()
    properties = {clause for item in PROPERTIES if item.ops == {"log.read"} for clause in item.clauses}
    assert wanted - properties == set()


def test_readers_see_what_the_real_jar_dispatched(tmp_path: Path) -> None:
    """Each log of the vectors: up to its first failure the records are those of the jar's requests, field by field."""
    by_id = {case.id: case for case in directed_cases()}
    compared = 0
    for case in by_id.values():
        if case.expected is None or case.op_names != {"log.dispatch"} or not case.ops[0]["check_crc"]:
            continue
        requests = case.expected.results[0].get("requests", [])
        records = records_of(by_id[case.id.replace("/", "/read-")], tmp_path)
        sound = [request for request in requests if request["success"] and request["msg_size"] > 0]
        for request, record in zip(sound, records, strict=False):
            given = {name: request[name] for name in SAME}
            if request["keys"] == "":  # LOG-DSP-3: a record has no keys, and its request an empty text
                given["keys"] = record["keys"]
                assert not record["keys"]
            assert {name: record[theirs] for name, theirs in SAME.items()} == given, case.id
            compared += 1
        assert len(records) >= len(sound), case.id
        if any(record["crc_ok"] for record in records[len(sound) :]):  # a level that is no number, in Java
            assert case.id.startswith("LOG-DSP-5/"), case.id
    assert compared > 60


SAME = {
    "topic": "topic", "queue_id": "queue_id", "commit_log_offset": "phy_offset", "msg_size": "size",
    "tags_code": "tags_code", "store_timestamp": "store_timestamp", "consume_queue_offset": "queue_offset",
    "keys": "keys", "uniq_key": "uniq_key", "sys_flag": "sys_flag",
}  # fmt: skip


def records_of(case: Case, tmp_path: Path) -> list[dict[str, Any]]:
    [result] = expect(case, tmp_path / "case").results
    return [dict(record) for record in result.get("records", [])]
