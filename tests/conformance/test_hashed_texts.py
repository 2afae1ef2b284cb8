"""Two hashes that differ are shown with the texts that were hashed."""

from typing import Any

import pytest
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, differences, hashed_texts

KEY = {"op": "key.hash", "key": "T#k"}
HASH = (84 * 31 + 35) * 31 + 107
"""Of `T#k`."""


@pytest.mark.parametrize(
    ("op", "expected", "actual", "texts"),
    [
        (KEY, HASH, 107, ('"T#k"', '"k"')),
        (KEY, HASH, 84 * 31 + 107, ('"T#k"', '"Tk"')),
        (KEY, HASH, ((84 + 32) * 31 + 35) * 31 + 107, ('"T#k"', '"t#k"')),
        (KEY, HASH, 5, ('"T#k"', None)),
        ({**KEY, "key": "é"}, 0xE9, 0xC3 * 31 + 0xA9, ('"é"', 'the UTF-8 bytes of "é"')),
        (
            {**KEY, "key": "\U0001f600"}, 0xD83D * 31 + 0xDE00, 0x1F600,
            ('"\U0001f600"', 'the code points of "\U0001f600"'),
        ),
        # AaTopic#Aa has the Java hashCode -10606476
        (
            {**KEY, "key": "AaTopic#Aa"}, 10606476, -10606476,
            ('"AaTopic#Aa"', '"AaTopic#Aa" without the absolute value'),
        ),
        (
            {"op": "tags.code", "tags": "AaTopic#Aa"}, "-10606476", "10606476",
            ('"AaTopic#Aa"', 'the absolute value for "AaTopic#Aa"'),
        ),
        ({"op": "index.full"}, True, False, (None, None)),
    ],
)  # fmt: skip
def test_texts_that_were_hashed(
    op: dict[str, Any], expected: object, actual: object, texts: tuple[str | None, str | None]
) -> None:
    field = {"key.hash": "hash", "tags.code": "tags_code", "index.full": "full"}[op["op"]]
    case = Case("IDX-HASH-1/any", ("IDX-HASH-1",), (op,))
    want, got = Observation(({field: expected},)), Observation(({field: actual},))
    [difference] = differences(case, want, got)
    named = zip(("expected", "actual"), texts, strict=True)
    assert hashed_texts(difference, case.ops) == {name: text for name, text in named if text is not None}


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
