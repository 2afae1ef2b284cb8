"""Reput, recovery, start and query over small commit logs, with values worked out by hand."""

from __future__ import annotations

import itertools
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from rocket_reference import (
    CommitLogFiles,
    DispatchRequest,
    JavaError,
    Message,
    Reput,
    Store,
    StoreConfig,
    UnspecifiedError,
    encode_blank,
    encode_record,
    file_name,
    write_checkpoint,
)
from rocket_reference.checkpoint_file import Checkpoint
from rocket_reference.query_message import (
    SentMessage,
    decode_messages,
    keep_for_client,
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


def read(root: Path, end: int, *, master: bool = True) -> tuple[list[int], Reput]:
    """What a reput dispatches of a log that is written up to `end`, one run."""
    log = CommitLogFiles(root / "commitlog", SIZE)
    assert log.load()
    log.files.truncate_dirty_files(end)
    offsets: list[int] = []

    def dispatch(request: DispatchRequest) -> None:
        offsets.append(request.commit_log_offset)

    reput = Reput(log, dispatch, master=master)
    reput.reput()
    return offsets, reput


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


def test_the_record_is_98_bytes() -> None:
    assert LENGTH == 98


def test_reput_goes_on_in_the_next_file_behind_a_blank(tmp_path: Path) -> None:
    lay(tmp_path, three(), three(SIZE, 3))
    offsets, reput = read(tmp_path, SIZE + 2 * LENGTH)
    assert offsets == [0, 98, 196, 400, 498]
    assert reput.behind() == 0


def test_reput_after_a_length_mismatch_jumps_beyond_the_log(tmp_path: Path) -> None:
    first = bytearray(record(0, 0, KEYS="k"))
    struct.pack_into(">i", first, 0, LENGTH + 5)
    lay(tmp_path, bytes(first) + record(98, 1, KEYS="k") + record(196, 2, KEYS="k"))
    offsets, reput = read(tmp_path, 294)
    assert offsets == [98, 196]
    # 103 for the first, 196 for the others, and the 98 bytes that were not counted as read
    assert reput.reput_from_offset == 103 + 196 + 98
    assert reput.behind() == 294 - 397


@pytest.mark.parametrize(("master", "offset"), [(True, 294), (False, 98)])
def test_reput_at_a_bad_magic_jumps_on_a_master_only(master: bool, offset: int, tmp_path: Path) -> None:  # noqa: FBT001
    bad = bytearray(record(98, 1, KEYS="k"))
    bad[4] ^= 1
    lay(tmp_path, record(0, 0, KEYS="k") + bytes(bad) + record(196, 2, KEYS="k"))
    offsets, reput = read(tmp_path, 294, master=master)
    assert offsets == [0]
    assert reput.reput_from_offset == offset


def test_a_slave_never_starts_over_a_bad_magic(tmp_path: Path) -> None:
    lay(tmp_path, three(), b"", three(2 * SIZE, 6), three(3 * SIZE, 9), three(4 * SIZE, 12))
    store = opened(tmp_path, slave=True)
    assert store.load()  # the last three files are whole, the second is not looked at
    with pytest.raises(UnspecifiedError):
        store.start()


def test_a_master_starts_there_and_misses_a_file(tmp_path: Path) -> None:
    lay(tmp_path, three(), b"", three(2 * SIZE, 6), three(3 * SIZE, 9), three(4 * SIZE, 12))
    store = opened(tmp_path)
    assert store.load()
    store.start()
    units = [store.queues.find("T", 0).get(number) for number in range(13)]
    assert [unit and unit.phy_offset for unit in units] == [
        *(0, 98, 196, 800, 898, 996, 1200, 1298, 1396, 1600, 1698, 1796),
        None,
    ]


def test_start_and_end(tmp_path: Path) -> None:
    lay(tmp_path, three())
    store = opened(tmp_path)
    assert store.load()
    assert not (tmp_path / "abort").exists()
    store.start()
    assert (tmp_path / "abort").exists()
    assert store.shutdown()
    assert not (tmp_path / "abort").exists()
    assert struct.unpack_from(">qqq", (tmp_path / "checkpoint").read_bytes()) == (0, T0 + 2000, 0)


def test_a_clean_start_dispatches_nothing_again(tmp_path: Path) -> None:
    lay(tmp_path, three())
    dispatched: list[int] = []
    for expected in ([0, 98, 196], []):
        dispatched.clear()
        store = opened(tmp_path)
        store._on_dispatch = lambda request: dispatched.append(request.commit_log_offset)
        assert store.load()
        store.start()
        assert store.shutdown()
        assert dispatched == expected


def test_an_unclean_start_goes_back_to_a_safe_file_and_indexes_the_last_message_twice(tmp_path: Path) -> None:
    lay(tmp_path, three(), three(SIZE, 3), three(2 * SIZE, 6)[: 3 * LENGTH])
    store = opened(tmp_path)
    assert store.load()
    store.start()
    store.close()  # killed: abort stays
    # the newest file whose first record, of 6 s, 3 s or 0 s, is not after 6.5 s - 3 s
    write_checkpoint(tmp_path / "checkpoint", Checkpoint(T0 + 9000, T0 + 6500, T0 + 8000))
    dispatched: list[int] = []
    again = opened(tmp_path)
    again._on_dispatch = lambda request: dispatched.append(request.commit_log_offset)
    assert again.load()
    assert dispatched == [400, 498, 596, 800, 898, 996]
    assert again.index.query("T", "k", 64, 0, 1 << 62).offsets[:3] == [996, 996, 898]
    assert again.queues.find("T", 0).bounds().max == 9


def test_recovery_cuts_the_log_and_deletes_the_file_made_ahead(tmp_path: Path) -> None:
    lay(tmp_path, three(), record(SIZE, 3, KEYS="k") + b"\1\2\3", b"")
    store = opened(tmp_path)
    assert store.load()
    assert store.log.max_offset() == SIZE + LENGTH
    assert sorted(path.name for path in (tmp_path / "commitlog").iterdir()) == [file_name(0), file_name(SIZE)]


def test_an_empty_commit_log_deletes_the_queues_and_keeps_the_index(tmp_path: Path) -> None:
    lay(tmp_path, three())
    store = opened(tmp_path)
    assert store.load()
    store.start()
    store.shutdown()
    (tmp_path / "commitlog" / file_name(0)).unlink()
    again = opened(tmp_path)
    assert again.load()
    assert not (tmp_path / "consumequeue/T/0").exists()
    assert len(again.index.files) == 1


def test_a_queue_file_of_another_length_stops_the_start(tmp_path: Path) -> None:
    lay(tmp_path, three())
    path = tmp_path / "consumequeue/T/0/00000000000000000000"
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(99))
    assert not opened(tmp_path).load()
    assert not (tmp_path / "checkpoint").exists()


def test_delayed_messages_get_the_hash_of_their_tags_in_recovery(tmp_path: Path) -> None:
    delayed = encode_record(
        "SCHEDULE_TOPIC_XXXX", b"", {"TAGS": "A", "DELAY": "1"}, store_timestamp=T0, phy_offset=0
    )
    lay(tmp_path / "first", delayed)
    lay(tmp_path / "again", delayed)
    (tmp_path / "again/abort").touch()
    codes = []
    for name in ("first", "again"):
        store = opened(tmp_path / name)
        assert store.load()
        store.start()
        unit = store.queues.find("SCHEDULE_TOPIC_XXXX", 0).get(0)
        assert unit is not None
        codes.append(unit.tags_code)
    assert codes == [T0 + 1000, 65]


# --- query ------------------------------------------------------------------------------------------------


def started(root: Path, *files: bytes) -> Store:
    lay(root, *files)
    store = opened(root)
    assert store.load()
    store.start()
    return store


def test_messages_go_out_by_offset_and_the_lowest_must_decode(tmp_path: Path) -> None:
    store = started(tmp_path, three())
    asked = ("T", "k", 9, 0, 1 << 62)
    assert [message.offset for message in query_message(store.index, store.log, *asked).messages] == [
        0,
        98,
        196,
    ]
    for place in (0, 98):  # topics whose length leads beyond the record
        store.log.files.mapped_files[0].view[place + 88] = 120
    sent = query_message(store.index, store.log, *asked).messages
    assert [(message.offset, len(message.data)) for message in sent] == [(98, 98), (196, 98)]


def test_three_rounds_each_ending_at_the_lowest_hit(tmp_path: Path) -> None:
    store = started(tmp_path, three())
    for place in (0, 98, 196):
        store.log.files.mapped_files[0].view[place : place + 4] = bytes(4)  # a size of 0: 0 bytes are sent
    result = query_message(store.index, store.log, "T", "k", 9, 0, 1 << 62)
    assert [(message.offset, message.data) for message in result.messages] == [(98, b""), (196, b"")] * 3
    assert result.last_update_phy_offset == 196


def test_nothing_found_tells_no_last_update(tmp_path: Path) -> None:
    store = started(tmp_path, three())
    result = query_message(store.index, store.log, "T", "x", 9, 0, 1)
    assert (result.messages, result.last_update_timestamp, result.last_update_phy_offset) == ([], 0, 0)


def sent(*records: bytes) -> list[Message]:
    return decode_messages(SentMessage(0, data) for data in records)


def test_a_client_keeps_topic_and_key() -> None:
    other = encode_record("U", b"", {"KEYS": "k"})
    messages = sent(record(0, 0, KEYS="k x"), record(98, 1, KEYS="x"), other, record(0, 2))
    assert [message.queue_offset for message in keep_for_client(messages, "T", "k")] == [0]
    assert [message.topic for message in messages] == ["T", "T", "U", "T"]


def test_a_client_keeps_the_earliest_of_a_unique_key_whatever_its_topic() -> None:
    other = encode_record("U", b"", {"UNIQ_KEY": "u"}, store_timestamp=T0 + 500)
    messages = sent(record(0, 1, UNIQ_KEY="u"), other, record(98, 2, UNIQ_KEY="u"), record(0, 0))
    kept = keep_for_client(messages, "T", "u", by_unique_key=True)
    assert [message.topic for message in kept] == ["U"]


def test_an_id_without_a_unique_key_is_host_and_offset() -> None:
    message = sent(encode_record("T", phy_offset=258, store_host="127.0.0.1:10911"))[0]
    assert message.msg_id == "7F00000100002A9F0000000000000102"


def test_decoding_ends_at_the_first_that_is_no_message() -> None:
    packed = encode_record("T", zlib.compress(b"text"), sys_flag=1)
    broken = encode_record("T", b"text", sys_flag=1)
    messages = sent(packed, broken, record(0, 0))
    assert [message.body for message in messages] == [b"text"]
