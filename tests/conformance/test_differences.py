"""Differences that can be read: long lists, rejections, files that are missing or not expected."""

from typing import Any

import pytest
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import differences
from rocket_conformance.files import image_of
from rocket_conformance.report import describe_divergence

CLAUSE = "LOG-REC-1"


def told(op: dict[str, Any], want: dict[str, Any], got: dict[str, Any]) -> list[str]:
    case = Case(f"{CLAUSE}/x", (CLAUSE,), (op,))
    found = differences(case, Observation((want,)), Observation((got,)))
    return describe_divergence([item.to_json(CLAUSE) for item in found])


def records(count: int, **changed: object) -> dict[str, Any]:
    return {"records": [{"phy_offset": str(100 * number), "topic": "T"} | changed for number in range(count)]}


def test_of_lists_of_unequal_length_the_lengths_and_the_first_item_that_differs_are_printed() -> None:
    read = {"op": "log.read", "file": "log"}
    assert told(read, records(30), records(31)) == [
        f"{CLAUSE}: operation 0, records: wrong value, expected 30 records, actual 31 records, the first that differs is records[30]"
    ]
    others = records(31)
    others["records"][2]["topic"] = "t"
    assert told(read, records(30), others) == [
        f"{CLAUSE}: operation 0, records: wrong value, expected 30 records, actual 31 records, the first that differs is records[2]",
        f"{CLAUSE}: operation 0, records[2].topic: wrong value, expected T, actual t",
    ]


def test_of_long_lists_of_equal_length_the_items_are_printed() -> None:
    many = [str(10**9 + number) for number in range(100)]
    want, got = {"offsets": many}, {"offsets": [*many[:70], "0", *many[71:]]}
    assert told({"op": "index.select"}, want, got) == [
        f"{CLAUSE}: operation 0, offsets[70]: wrong value, expected 1000000070, actual 0"
    ]
    short = {"offsets": ["2", "1"]}
    assert told({"op": "index.select"}, short, {"offsets": ["1"]}) == [
        f'{CLAUSE}: operation 0, offsets: wrong value, expected ["2", "1"], actual ["1"]'
    ]


@pytest.mark.parametrize("is_wrong", [False, True])
def test_rejections_print_alike(*, is_wrong: bool) -> None:
    pair = {"rejected": "full"}, {"put": True}
    [line] = told({"op": "index.put"}, *(pair if is_wrong else pair[::-1]))
    sides = "wrongly accepted, expected rejected (full)", "wrongly rejected, expected {"
    assert sides[not is_wrong] in line
    assert is_wrong or line.endswith("actual rejected (full)")


def test_a_file_that_is_missing_or_not_expected_is_said_to_be() -> None:
    case = Case("CQ-FILE-2/x", ("CQ-FILE-2",), ({"op": "queue.bounds"},))
    one, two = Observation(({},), {"a": image_of(b"12345")}), Observation(({},), {"b": image_of(b"123")})
    found = differences(case, one, two)
    assert describe_divergence([item.to_json("CQ-FILE-2") for item in found]) == [
        "CQ-FILE-2: file a is missing, 5 bytes expected",
        "CQ-FILE-2: file b of 3 bytes is not expected",
    ]
