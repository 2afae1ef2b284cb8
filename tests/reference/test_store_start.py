"""Reput, recovery, start and query over small commit logs, with values worked out by hand."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from rocket_reference import (
    CommitLogFiles,
    JavaError,
    Store,
    StoreConfig,
    UnspecifiedError,
    encode_blank,
    encode_record,
    file_name,
)
from rocket_reference.query_message import (
    query_message,
)

T0 = 1700000000000
SIZE = 400


def record(offset: int, number: int, **properties: str) -> bytes:
    return encode_record(
        "T", b"", properties, queue_offset=number, phy_offset=offset, store_timestamp=T0 + 1000 * number
    )


LENGTH = len(record(0, 0, KEYS="k"))  # 91 + 1 + 6


def lay(root: Path, *files: bytes) -> None:
    """Commit-log files of 400 bytes, filled with zeros."""
    folder = root / "commitlog"
    folder.mkdir(parents=True)
    for number, data in enumerate(files):
        (folder / file_name(SIZE * number)).write_bytes(data.ljust(SIZE, b"\0"))


def three(base: int = 0, first: int = 0) -> bytes:
    """Three records of 98 bytes, and the blank that ends their file."""
    records = (record(base + LENGTH * place, first + place, KEYS="k") for place in range(3))
    return b"".join(records) + encode_blank(SIZE - 3 * LENGTH)


def opened(root: Path, **config: Any) -> Store:
    names = itertools.count(20260101000000000)
    return Store(
        root,
        StoreConfig(
            commit_log_file_size=SIZE,
            queue_file_size=100,
            hash_slot_num=7,
            index_num=50,
            **config,
        ),
        new_index_name=lambda: str(next(names)),
    )


def test_log_blank_1_a_batch_moves_as_a_whole_and_8_bytes_stay_free(tmp_path: Path) -> None:
    log = CommitLogFiles(tmp_path / "commitlog", 2 * LENGTH + 8)
    message = record(7, 0, KEYS="k")
    assert log.append([message, message]) == [0, 98]
    assert log.append([message]) == [204]
    assert log.append([message, message]) == [408, 506]
    first, second, third = sorted((tmp_path / "commitlog").iterdir())
    blank = bytes.fromhex("00000008 cbd43194")
    assert first.read_bytes() == record(0, 0, KEYS="k") + record(98, 0, KEYS="k") + blank
    blank = bytes.fromhex("0000006a cbd43194")
    assert second.read_bytes() == record(204, 0, KEYS="k") + blank + bytes(98)
    assert log.max_offset() == 408 + 196
    with pytest.raises(JavaError, match="294 bytes"):
        log.append([message, message, message])
    assert third.name == file_name(408)


def test_a_slave_never_starts_over_a_bad_magic(tmp_path: Path) -> None:
    lay(tmp_path, three(), b"", three(2 * SIZE, 6), three(3 * SIZE, 9), three(4 * SIZE, 12))
    store = opened(tmp_path, slave=True)
    assert store.load()  # the last three files are whole, the second is not looked at
    with pytest.raises(UnspecifiedError):
        store.start()


# --- query ------------------------------------------------------------------------------------------------


def started(root: Path, *files: bytes) -> Store:
    lay(root, *files)
    store = opened(root)
    assert store.load()
    store.start()
    return store


def test_three_rounds_each_ending_at_the_lowest_hit(tmp_path: Path) -> None:
    store = started(tmp_path, three())
    for place in (0, 98, 196):
        store.log.files.mapped_files[0].view[place : place + 4] = bytes(4)  # a size of 0: 0 bytes are sent
    result = query_message(store.index, store.log, "T", "k", 9, 0, 1 << 62)
    assert [(message.offset, message.data) for message in result.messages] == [(98, b""), (196, b"")] * 3
    assert result.last_update_phy_offset == 196
