"""Queues whose log files expired: which of their files a broker deletes with them (`deleteExpiredFileByOffset`)."""

from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.rebuild import rebuild
from store_bytes import blank, put, record, unit

LOG = 1024


def log_file(path: Path, base: int, *offsets: int) -> None:
    """A log file with messages of these logical offsets in T's only queue."""
    data = b""
    for offset in offsets:
        data += record(base + len(data), queue_offset=offset)
    put(path, f"commitlog/{base:020}", data + blank(LOG - len(data)))


@pytest.mark.parametrize(("first", "files"), [((0, 1), []), ((0, 1, 2), ["commitlog/00000000000000000000"])])
def test_a_full_queue_file_of_an_expired_log_file(
    tmp_path: Path, first: tuple[int, ...], files: list[str]
) -> None:
    """Queue files of two units, and a log whose first file expired.

    If that held the messages 0 and 1 the first queue file was the last when it expired, and is kept. If it held 2 too the queue had
    a second file, and the broker deletes the first.
    """
    store = tmp_path / "store"
    log_file(store, 0, *first)
    log_file(store, LOG, *range(len(first), 5))
    log_file(store, 2 * LOG, 5)
    rebuild(store, tmp_path / "out", queue_file_size=40)
    (tmp_path / "out" / "consumequeue").rename(store / "consumequeue")
    (store / "commitlog" / f"{0:020}").unlink()
    found = [one for one in audit(store) if one.code == "log.gap"]
    assert [one.file for one in found] == files


@pytest.mark.parametrize(("place", "codes"), [(1, []), (3, ["queue.gap"])])
def test_a_pre_blank_unit_before_one_of_an_expired_message(
    tmp_path: Path, place: int, codes: list[str]
) -> None:
    """Messages 0 to 2 have expired: a broker's queue begins at 3, whatever the units before it are."""
    store = tmp_path / "store"
    log_file(store, 0, 0, 1, 2)
    log_file(store, LOG, 3, 4)
    rebuild(store, tmp_path / "out", queue_file_size=100)
    (tmp_path / "out" / "consumequeue").rename(store / "consumequeue")
    (store / "commitlog" / f"{0:020}").unlink()
    queue = store / "consumequeue" / "T" / "0" / f"{0:020}"
    data = queue.read_bytes()
    queue.write_bytes(data[: 20 * place] + unit(0, 0x7FFFFFFF) + data[20 * place + 20 :])
    assert [one.code for one in audit(store) if one.code.startswith("queue.")] == codes
