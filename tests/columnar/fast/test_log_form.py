"""Both forms in which records are read: the same strings, hashes and pairs."""

import random

import numpy as np
import pytest
from numpy.typing import NDArray
from rocket_columnar.fast import ROW, SLACK, LogForm, PlainLog, forced, log_form

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


def test_many_distinct_strings_of_any_length(form: LogForm) -> None:
    dice = random.Random(5)  # noqa: S311
    items = [dice.randbytes(dice.randrange(40)) for _ in range(4000)]
    items += dice.choices(items, k=4000)
    numbers = {item: number for number, item in enumerate(dict.fromkeys(items))}
    known = form.new_numbers()
    assert known.numbers(*placed(items)).tolist() == [numbers[item] for item in items]
    assert known.items == list(numbers)


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


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        (b"KEYS\1a\1", b"a"),
        (b"KEYS\1a\1b", b""),
        (b"KEYS\1a\1\1\2x\1y", b"a"),
        (b"KEYS\1\1a", b""),
        (b"\1KEYS\1a", b""),
        (b"KEYS\1a\2KEYS\1b\1c", b"a"),
    ],
)
def test_a_pair_with_a_second_separator_before_4_9_1(properties: bytes, key: bytes) -> None:
    """LOG-PROP-3: it is split at each, empty last pieces are dropped, and two must be left."""
    window, at, lengths = placed([properties])
    rows = np.zeros(1, ROW)
    rows["properties_at"], rows["properties_length"] = at, lengths
    PlainLog(one_separator=True).find_values(window, rows)
    (begin,), (length,) = rows["keys_at"].tolist(), rows["keys_length"].tolist()
    assert window[begin : begin + length].tobytes() == key
