"""Two hashes that differ are shown with the texts that were hashed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, differences, hashed_texts
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.report import describe_divergence, read_report
from rocket_conformance.running import Options, run
from rocket_conformance.schema import problems


def of_results(op: dict[str, Any], field: str, expected: object, actual: object) -> dict[str, str]:
    case = Case("IDX-HASH-1/any", ("IDX-HASH-1",), (op,))
    want, got = Observation(({field: expected},)), Observation(({field: actual},))
    [difference] = differences(case, want, got)
    return hashed_texts(difference, case.ops)


@pytest.mark.parametrize(
    ("actual", "text"),
    [
        (107, '"k"'),  # without the topic
        (84 * 31 + 107, '"Tk"'),  # without the #
        ((84 + 32) * 31 * 31 + 35 * 31 + 107, '"t#k"'),
    ],
)
def test_another_text_of_a_key(actual: int, text: str) -> None:
    found = of_results({"op": "key.hash", "key": "T#k"}, "hash", 84 * 31 * 31 + 35 * 31 + 107, actual)
    assert found == {"expected": '"T#k"', "actual": text}


def test_the_utf_8_bytes_of_a_key() -> None:
    found = of_results({"op": "key.hash", "key": "é"}, "hash", 0xE9, 0xC3 * 31 + 0xA9)
    assert found == {"expected": '"é"', "actual": 'the UTF-8 bytes of "é"'}


def test_the_code_points_of_a_key() -> None:
    found = of_results({"op": "key.hash", "key": "\U0001f600"}, "hash", 0xD83D * 31 + 0xDE00, 0x1F600)
    assert found["actual"] == 'the code points of "\U0001f600"'


def test_a_hash_without_its_absolute_value() -> None:
    """`AaTopic#Aa` has the Java hashCode -10606476."""
    found = of_results({"op": "key.hash", "key": "AaTopic#Aa"}, "hash", 10606476, -10606476)
    assert found == {"expected": '"AaTopic#Aa"', "actual": '"AaTopic#Aa" without the absolute value'}


def test_the_absolute_value_of_a_tag() -> None:
    found = of_results({"op": "tags.code", "tags": "AaTopic#Aa"}, "tags_code", "-10606476", "10606476")
    assert found == {"expected": '"AaTopic#Aa"', "actual": 'the absolute value for "AaTopic#Aa"'}


def test_an_entry_of_a_built_message_names_part_and_whole() -> None:
    ops = [
        {"op": "service.build", "topic": "T", "uniq_key": None, "keys": "a,b", "commit_log_offset": "0",
         "store_timestamp": "1", "sys_flag": 0},
    ]  # fmt: skip
    whole = 0
    for char in "T#a,b":
        whole = whole * 31 + ord(char)
    part = (84 * 31 + 35) * 31 + 97
    item = Difference(None, "entry[1].key_hash", "index/new-1", 60, "wrong bytes", str(whole), str(part))
    assert hashed_texts(item, ops) == {"expected": '"T#a,b"', "actual": '"T#a"'}


def test_a_field_that_is_no_hash_has_no_text() -> None:
    assert of_results({"op": "key.hash", "key": "T#k"}, "hash", 84 * 31 * 31 + 35 * 31 + 107, 5) == {
        "expected": '"T#k"'
    }
    assert of_results({"op": "index.full"}, "full", True, False) == {}


def test_a_report_has_the_texts_beside_the_hashes(tmp_path: Path) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "utf8-bytes-for-utf16-units")
    with mutant.open() as transport:
        run(transport, Options(select=["IDX-HASH-1/[!s]*"], examples=5, shrink_seconds=1), report=tmp_path)
    failed = [line for line in read_report(tmp_path / "report.jsonl").cases if line.verdict == "diverged"]
    texts = [text for line in failed for text in describe_divergence(line.divergence)]
    assert any('(of the UTF-8 bytes of "' in text for text in texts)
    lines = (tmp_path / "report.jsonl").read_text("utf-8").splitlines()
    assert [problems("report_line", json.loads(line)) for line in lines] == [[]] * len(lines)
