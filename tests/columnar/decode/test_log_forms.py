"""Both forms of the scan of a commit log: the same rows, the same gaps, the same strings and hashes."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rocket_columnar import fast
from rocket_columnar.decode import decode
from rocket_columnar.fast import ROW, SLACK, PlainLog, log_form
from rocket_columnar.log import Gap
from rocket_columnar.store import find_files
from rocket_golden import open_store, stores
from store_bytes import blank, put, record

DISPATCH = [
    "phy_offset",
    "size",
    "topic",
    "queue_id",
    "queue_offset",
    "sys_flag",
    "store_timestamp",
    "keys",
    "uniq_key",
    "tags",
    "tags_code",
]
"""Columns that a dispatch needs."""

FIRST = "00000000000000000000"
SCHEDULE = b"SCHEDULE_TOPIC_XXXX"
MARKS = (
    b"\0",
    b"\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xda\xa3\x20\xa7",
    b"\xcb\xd4\x31\x94",
    b"\1",
    b"\2",
)

PROPERTIES = (
    b"",
    b"KEYS\1a b\2UNIQ_KEY\1U\2TAGS\1AaTopic#Aa\2",
    b"TAGS\1\xe8\xae\xa2\xe5\x8d\x95\2KEYS\1\xf0\x9f\x98\x80 x",
    b"TAGS\1\xed\xa0\x80\2KEYS\1\xff\2x\1y",
    b"TAGS\1\xed\xa0\x80\xed\xb0\x80\2",
    b"TAGS\1\xc0\x80\2TAGS\1\xf4\x90\x80\x80\2",
    b"TAGS\1\xe0\xa0",
    b"KEYS\1a\2KEYS\1b\2TAGS\1t\2KEYS\1c\1d\2",
    b"KEYS\1\2TAGS\2\1v\2UNIQ_KEY\1\2\2\2",
    b"DELAY\0013\2TAGS\1t\2",
    b"DELAY\1-1\2TAGS\1t\2",
    b"DELAY\1+2\2",
    b"DELAY\1soon\2",
    b"DELAY\00199\2",
    b"DELAY\1\xd9\xa3\2",  # an Arabic digit, which Java takes
    b"DELAY\0019999999999\2",
    b"DELAYED\0011\2TAG\1x\2",
    b"n\1" + b"long" * 500 + b"\2TAGS\1" + b"t" * 300,
)


def both_ways(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The rows, after both forms gave the same and the same gaps."""
    results: list[Any] = []
    columns = options.get("columns")
    if columns is None:
        both_ways(path, **options, columns=DISPATCH)
    for compiled in (False, True):
        gaps: list[Gap] = []
        rows: list[dict[str, Any]] = []
        with fast.forced(compiled=compiled):
            for _, batch in decode(find_files(path), on_gap=gaps.append, tables=["commit_log"], **options):
                batch.validate(full=True)
                rows += batch.to_pylist()
        results.append((rows, gaps))
    assert results[0] == results[1]
    rows = results[1][0]
    assert columns is None or all(list(row) == columns for row in rows)
    return rows


def reads_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a scan read the given number of bytes at once."""
    monkeypatch.setattr("rocket_columnar.log.scan.WINDOW", size)


def varied(count: int, seed: int = 7) -> bytes:
    """Records of many shapes in a row."""
    dice = random.Random(seed)
    made = bytearray()
    for number in range(count):
        sys_flag = dice.choice([0, 0, 16, 32, 48])
        made += record(
            len(made),
            topic=dice.choice([b"T", SCHEDULE, b"topic%d" % (number % 300), b"\xe8\xae\xa2", b"\xff", b""]),
            body=dice.randbytes(dice.choice([0, 1, 15, 16, 17, 100, 3000])),
            properties=dice.choice(PROPERTIES),
            sys_flag=sys_flag,
            born=dice.randbytes(16 if sys_flag & 16 else 4),
            store=dice.randbytes(16 if sys_flag & 32 else 4),
            queue_id=dice.randrange(-5, 5),
            queue_offset=dice.randrange(-(1 << 63), 1 << 63),
            store_timestamp=dice.choice([1_700_000_000_000 + number, (1 << 63) - 1, -(1 << 63)]),
            body_crc=dice.choice([None, None, 5, -1]),
        )
    return bytes(made)


@pytest.mark.parametrize("name", stores())
def test_golden_stores(name: str, tmp_path: Path) -> None:
    assert both_ways(open_store(name, tmp_path))


@pytest.mark.parametrize("window", [4096, 8192, 8 << 20])
def test_records_of_many_shapes(window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads_of(window, monkeypatch)
    put(tmp_path, f"commitlog/{FIRST}", varied(2000) + bytes(5000))
    assert len(both_ways(tmp_path / "commitlog")) == 2000


def test_record_longer_than_the_window(tmp_path: Path) -> None:
    data = bytearray()
    for size in (10, 9 << 20, 20, 30):
        data += record(len(data), body=b"b" * size)
    put(tmp_path, f"commitlog/{FIRST}", bytes(data))
    rows = both_ways(tmp_path / "commitlog")
    assert [len(row["body"]) for row in rows] == [10, 9 << 20, 20, 30]


@pytest.mark.parametrize("seed", range(12))
def test_damaged_logs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    reads_of(1 << 13, monkeypatch)
    original = varied(60, seed) + blank(40)
    for _ in range(8):
        data = bytearray(original)
        for _ in range(dice.choice([1, 3, 20])):
            mark = dice.choice([*MARKS, dice.randbytes(8)])
            position = dice.randrange(len(data))
            data[position : position + len(mark)] = mark
        if dice.random() < 0.2:
            del data[dice.randrange(len(data)) + 1 :]
        put(tmp_path, f"commitlog/{FIRST}", bytes(data))
        both_ways(tmp_path / "commitlog")


Places = tuple["NDArray[np.uint8]", "NDArray[np.int64]", "NDArray[np.int64]"]


@pytest.fixture
def form(_form: None) -> PlainLog:
    return log_form(0)


def placed(items: list[bytes]) -> Places:
    """The items in a window, and where they are."""
    window = np.frombuffer(b"".join(items) + bytes(SLACK), np.uint8)
    lengths = np.array([len(item) for item in items], np.int64)
    return window, np.cumsum(lengths) - lengths, lengths


def test_many_distinct_strings_of_any_length(form: PlainLog) -> None:
    dice = random.Random(5)
    items = [dice.randbytes(dice.randrange(40)) for _ in range(4000)]
    items += dice.choices(items, k=4000)
    numbers = {item: number for number, item in enumerate(dict.fromkeys(items))}
    known = form.new_numbers()
    assert known.numbers(*placed(items)).tolist() == [numbers[item] for item in items]
    assert known.items == list(numbers)


@pytest.mark.parametrize("middle", ["é", "标", "𠮷", "標x🚀", "\x7f"])
def test_properties_are_readable_if_python_can_decode_them(form: PlainLog, middle: str) -> None:
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
