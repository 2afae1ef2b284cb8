"""Dispatch requests of a log: record by record and by compiled windows, whole and in ranges, are the same."""

import os
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from rocket_columnar import fast
from rocket_columnar.log import Gap, Requests, RequestScan, TopicNames
from rocket_columnar.store import Source, StoreFile, find_files
from rocket_golden import manifest, open_store
from rocket_spec.errors import MalformedError
from store_bytes import put, record

Read = tuple[list[str], Requests, list[Gap], int, int]


def read(file: StoreFile, begin: int, end: int, *, exact: bool, compiled: bool) -> Read:
    names = TopicNames()
    gaps: list[Gap] = []
    with file.open() as reader:
        with fast.forced(compiled=compiled):
            scan = RequestScan(reader, file.base_offset, names, check_crc=True)
        batches = list(scan.run(begin, end, exact=exact, on_gap=gaps.append))
    return names.names, Requests.joined(batches), gaps, scan.first, scan.next


def same(one: Read, other: Read) -> bool:
    texts = [[read[0][number] for number in read[1].topic] for read in (one, other)]
    columns = [name for name in Requests.__slots__ if name != "topic"]
    return (
        texts[0] == texts[1]
        and one[2:] == other[2:]
        and all(np.array_equal(getattr(one[1], name), getattr(other[1], name)) for name in columns)
    )


@pytest.fixture(scope="module", params=sorted(manifest().stores))
def logs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[StoreFile]:
    store = open_store(request.param, tmp_path_factory.mktemp("golden"))
    return [file for file in find_files(store) if file.kind == "log"]


def test_ranges_join_on(logs: list[StoreFile]) -> None:
    """Wherever a file is cut into ranges, what they read is what the whole reads, each record once."""
    for file in logs:
        size = file.path.stat().st_size
        whole = read(file, 0, size, exact=True, compiled=False)
        cuts = [0, size // 7, size // 3, size // 3 + 1, size // 2, size]
        parts = [read(file, cuts[0], cuts[1], exact=True, compiled=False)]
        for begin, end in pairwise(cuts[1:]):
            part = read(file, begin, end, exact=False, compiled=False)
            if (
                parts[-1][4] != part[3]
            ):  # no record begins at that offset: what lies there belongs to this range
                part = read(file, parts[-1][4], end, exact=True, compiled=False)
            parts.append(part)
        offsets = np.concatenate([part[1].phy_offset for part in parts])
        assert np.array_equal(offsets, whole[1].phy_offset)
        assert np.array_equal(np.concatenate([part[1].key_hash for part in parts]), whole[1].key_hash)


LETTERS = "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
"""The first and last characters of one, two, three and four bytes."""
MALFORMED = "c181 e09fbf eda080 f08fbfbf f4908080 f5808080 80 c3 e4 e4b8 f0 f0a0 f0a0ae"
"""Bytes that are no UTF-8, in hexadecimal: too long, surrogates, beyond the last character, cut off."""
PAIRS = (
    b" \2 KEYS KEYS\1 KEYS\1\2 KEYS\1a\2KEYS\1 KEYS\1a\2KEYS\1b KEYS\1\1 UNIQ_KEY UNIQ_KEY\1 UNIQ_KEYS\1a "
    b"INNER_MULTI_DISPATCH\1a INNER_MULTI_DISPATCH\1 INNER_MULTI_DISPATCHX\1a"
).split(b" ")


def test_texts_of_all_lengths(tmp_path: Path) -> None:
    """Keys, tags, topics and whole properties across the bounds of what a loop takes at once, with and without ASCII."""
    lengths = (1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130)
    texts = [letter * length for length in lengths for letter in ("a", "\xe9")]
    values = [text.encode() for text in (*texts, *LETTERS, "0123456789abcde\u4e16")]
    values += map(bytes.fromhex, MALFORMED.split())
    pairs = [*PAIRS, b"KEYS\1 "]
    for value in values:
        pairs += [b"KEYS\1" + value, b"KEYS\1" + value + b" b " + value + b"  c", b"TAGS\1" + value]
        pairs += [b"UNIQ_KEY\1" + value + b"\2WAIT\1true\2KEYS\1x", b"P\1" + value + b"\2TAGS\1t\2"]
        pairs.append(value + b"\1v\2KEYS\1k")
    pairs += [b"K\1" + b"v" * length + b"\2KEYS\1a b" for length in range(40, 70)]
    pairs += [b"KEYS\1" + b"a " * length for length in range(28, 36)]
    topics = [b"t" * length for length in (1, 7, 8, 9, 63, 64, 65, 127)]
    topics += [b"a" * 70 + letter + b"a" * 56 for letter in (b"b", b"c")]
    data = b""
    for number, properties in enumerate(pairs):
        data += record(len(data), topic=topics[number % len(topics)], properties=properties)
    put(tmp_path, f"commitlog/{0:020}", data)
    (file,) = find_files(tmp_path / "commitlog")
    plain, compiled = (read(file, 0, len(data), exact=True, compiled=value) for value in (False, True))
    assert plain[1].phy_offset.size == len(pairs)
    assert same(plain, compiled)


def _long_log(directory: Path) -> StoreFile:
    """Records across the bounds of windows, one of them longer than a window."""
    data = b""
    for number in range(700):
        body = b"b" * (600_000 if number == 350 else number * 7 % 3000)
        data += record(len(data), body=body, properties=b"KEYS\1k%d" % number)
    put(directory, f"commitlog/{0:020}", data)
    (file,) = find_files(directory / "commitlog")
    return file


@pytest.mark.parametrize("far", [False, True])
def test_windows_follow_on_one_another(tmp_path: Path, far: bool) -> None:
    """Those that the loop reads itself, and those that a source gives."""
    file = _long_log(tmp_path)
    data = file.path.read_bytes()
    if far:
        file = replace(file, source=Source.of_bytes("far", data))
    plain, compiled = (read(file, 0, len(data), exact=True, compiled=value) for value in (False, True))
    assert plain[1].phy_offset.size == 700
    assert same(plain, compiled)


def test_a_file_that_is_cut_off_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    file = _long_log(tmp_path)
    with file.open() as reader:
        with fast.forced(compiled=True):
            scan = RequestScan(reader, 0, TopicNames())
        os.truncate(file.path, reader.size // 2)
        with pytest.raises(MalformedError, match="the end of the file"):
            list(scan.run(0, reader.size, exact=True, on_gap=lambda _: None))


def test_batches_around_damage_hold_no_room_for_other_records(tmp_path: Path) -> None:
    """A thousand single records between damaged ones, some with a wrong checksum: room for 4,096 in each took gigabytes."""
    data = bytearray()
    for number in range(2000):
        raw = bytearray(record(len(data), properties=b"KEYS\1k%d" % number, body_crc=number % 6 or None))
        if number % 2:
            raw[4:8] = b"1234"
        data += raw
    put(tmp_path, f"commitlog/{0:020}", bytes(data))
    (file,) = find_files(tmp_path / "commitlog")
    with file.open() as reader:
        with fast.forced(compiled=True):
            scan = RequestScan(reader, 0, TopicNames(), check_crc=True)
        batches = list(scan.run(0, len(data), exact=True, on_gap=lambda _: None))
    columns = [getattr(batch, name) for batch in batches for name in Requests.dtypes()]
    held = {
        id(owner): owner.nbytes for owner in (each if each.base is None else each.base for each in columns)
    }
    assert sum(batch.phy_offset.size for batch in batches) == 1000
    assert sum(held.values()) < 1000 * 100
    plain, compiled = (read(file, 0, len(data), exact=True, compiled=value) for value in (False, True))
    assert plain[1].crc_ok.sum() == 334
    assert same(plain, compiled)


def test_a_short_rest_without_records_gives_no_batch(tmp_path: Path) -> None:
    """If the rest has room for a few records only, an empty batch would be given without end."""
    first = bytes(record(0))
    put(tmp_path, f"commitlog/{0:020}", first + bytes(300))
    (file,) = find_files(tmp_path / "commitlog")
    with file.open() as reader:
        with fast.forced(compiled=True):
            scan = RequestScan(reader, 0, TopicNames())
        batches = scan.run(0, reader.size, exact=True, on_gap=lambda _: None)
        assert [batch.phy_offset.tolist() for batch in islice(batches, 3)] == [[0]]
