"""Both forms in which records are read: the same strings, hashes and pairs."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rocket_columnar.fast import ROW, SLACK, LogForm, forced, log_form
from rocket_columnar.formats import parse_properties, string_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

Places = tuple["NDArray[np.uint8]", "NDArray[np.int64]", "NDArray[np.int64]"]


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def form(request: pytest.FixtureRequest) -> LogForm:
    with forced(compiled=request.param):
        return log_form(0)


def placed(items: list[bytes]) -> Places:
    """The items in a window, and where they are."""
    window = np.frombuffer(b"".join(items) + bytes(SLACK), np.uint8)
    lengths = np.array([len(item) for item in items], np.int64)
    return window, np.cumsum(lengths) - lengths, lengths


def test_distinct_strings_have_numbers_in_their_order(form: LogForm) -> None:
    items = [b"a", b"", b"b", b"a", b"a\0", b"", b"12345678", b"123456789"]
    known = form.new_numbers()
    assert known.numbers(*placed(items)).tolist() == [0, 1, 2, 0, 3, 1, 4, 5]
    assert known.numbers(*placed([b"c", b"b"])).tolist() == [6, 2]
    assert known.items == [b"a", b"", b"b", b"a\0", b"12345678", b"123456789", b"c"]


def test_many_distinct_strings_of_any_length(form: LogForm) -> None:
    dice = random.Random(5)  # noqa: S311
    items = [dice.randbytes(dice.randrange(40)) for _ in range(4000)]
    items += dice.choices(items, k=4000)
    numbers = {item: number for number, item in enumerate(dict.fromkeys(items))}
    known = form.new_numbers()
    assert known.numbers(*placed(items)).tolist() == [numbers[item] for item in items]
    assert known.items == list(numbers)


def test_items_one_after_the_other(form: LogForm) -> None:
    items = [b"", b"abc", bytes(range(100)), b"", b"z"]
    window, at, lengths = placed(items)
    offsets, data = form.gather(window, at[::-1], lengths[::-1])
    assert offsets.tolist() == [0, 1, 1, 101, 104, 104]
    assert data.tobytes().startswith(b"".join(reversed(items)))


def test_hash_codes_are_those_of_java(form: LogForm) -> None:
    texts = ["", "a", "AaBB", "polygenelubricants", "\u6807\u7b7e", "x\U0001f680" * 20]
    codes = form.hash_codes(*placed([text.encode() for text in texts]))
    assert codes.tolist() == [string_hash(text) for text in texts]


def test_a_repeated_name_has_its_first_place_and_its_last_value(form: LogForm) -> None:
    texts = [b"a\1b\2c\1d\2a\1e\2", b"", b"\1x\2y\1\2z", b"n\1" + b"v" * 70 + b"\1w\2a\1b"]
    window, at, lengths = placed(texts)
    rows = np.zeros(len(texts), ROW)
    rows["properties_at"], rows["properties_length"] = at, lengths
    counts, *pairs = form.split_properties(window, rows)
    assert counts.tolist() == [2, 0, 0, 2]
    names, values = (
        [data[begin:end].tobytes() for begin, end in itertools.pairwise(offsets)] for offsets, data in pairs
    )
    known = [pair for text in texts for pair in parse_properties(text).items()]
    assert list(zip(names, values, strict=True)) == known


@pytest.mark.parametrize("middle", ["é", "标", "𠮷", "標x🚀", "\x7f"])
def test_properties_are_readable_if_python_can_decode_them(form: LogForm, middle: str) -> None:
    """Also where the text ends within a character, and where a byte of it is another."""
    raw = middle.encode()
    texts = [b"a" * before + raw[:kept] for before in (0, 3, 9) for kept in range(len(raw) + 1)]
    texts += [
        raw[:at] + bytes([other]) + raw[at + 1 :] + b"b" for at in range(len(raw)) for other in range(256)
    ]
    window, at, lengths = placed(texts)
    rows = np.zeros(len(texts), ROW)
    rows["properties_at"], rows["properties_length"] = at, lengths
    form.find_values(window, rows)
    assert rows["readable"].tolist() == [text.decode(errors="replace").encode() == text for text in texts]
