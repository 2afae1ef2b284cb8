"""A log read in parts by several threads, compared with a walk from its first byte."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rocket_columnar.log import Requests, TopicNames, dispatch_ahead, read_requests, read_requests_ahead
from rocket_columnar.store import find_files
from rocket_golden import open_store
from store_bytes import put, record

if TYPE_CHECKING:
    from pathlib import Path

    from rocket_columnar.log import Gap


def check(store: Path, part: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Both ways give one list of requests and one of gaps; the number of parts."""
    monkeypatch.setattr(dispatch_ahead, "_PART", part)
    files = find_files(store / "commitlog", "log")
    names = TopicNames(), TopicNames()
    gaps: tuple[list[tuple[str, Gap]], list[tuple[str, Gap]]] = [], []
    whole: list[Requests] = []
    for file in files:
        own: list[Gap] = []
        whole += read_requests(file, names[0], own.append)
        gaps[0].extend((file.name, gap) for gap in own)
    with ThreadPoolExecutor(2) as pool:
        read = [
            *read_requests_ahead(files, names[1], lambda file, gap: gaps[1].append((file.name, gap)), pool, 3)
        ]
    parts = [batch for _, _, requests in read for batch in requests]
    one, other = Requests.joined(whole), Requests.joined(parts)
    for column in Requests.dtypes():
        if column != "topic":
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    assert [names[0].names[topic] for topic in one.topic] == [names[1].names[topic] for topic in other.topic]
    assert gaps[0] == gaps[1]
    assert sum(length for _, length, _ in read) == sum(file.size() for file in files)
    return len(read)


def test_parts_of_a_healthy_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 files of 32 KiB in 8 parts each."""
    assert check(open_store("mixed", tmp_path / "golden"), 4096, monkeypatch) == 4 * 8


def test_a_log_file_that_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store("mixed", tmp_path / "golden")
    log = min((store / "commitlog").iterdir())
    log.write_bytes(log.read_bytes()[:9_000])
    assert check(store, 1024, monkeypatch) > 3 * 32


def test_damage_across_parts_is_one_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store("mixed", tmp_path / "golden")
    log = min((store / "commitlog").iterdir())
    data = bytearray(log.read_bytes())
    data[3_000:14_000] = bytes([0x55]) * 11_000
    log.write_bytes(data)
    check(store, 4096, monkeypatch)


def test_a_record_within_a_body_is_not_the_beginning_of_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body holds a whole record that states its own position, and a part begins just before it."""
    first = record(0, body=b"x" * 100)
    inner = record(len(first) + 88, body=b"hidden")  # a body begins after 88 bytes
    outer = record(len(first), body=inner)
    last = record(len(first) + len(outer), body=b"z" * 100)
    put(tmp_path, f"commitlog/{0:020}", (first + outer + last).ljust(4096, b"\0"))
    for part in range(len(first) + 48, len(first) + 89):
        check(tmp_path, part, monkeypatch)
