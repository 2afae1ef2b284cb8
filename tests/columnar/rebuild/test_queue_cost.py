"""What it costs to put units into many queues."""

from pathlib import Path

import numpy as np
import pytest
from rocket_columnar.rebuild import Holes, rebuild
from rocket_columnar.rebuild.dispatched_columns import UNIT, Units
from rocket_columnar.rebuild.queue_writer import QueueFiles
from rocket_spec.layout import Geometry
from store_bytes import put, record


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def test_few_files_are_open_at_once_however_many_queues_there_are(tmp_path: Path) -> None:
    queues = QueueFiles(tmp_path, (), 60, Holes(0))
    before = open_files()
    rows = np.zeros(300, UNIT)
    rows["size"], rows["topic"] = 100, [queues.topics.number(f"T{number}") for number in range(300)]
    at_once = 1 << 15  # units that are put together, at least
    for turn in range(2):
        rows["phy_offset"], rows["logical_offset"] = np.arange(300) * 100 + turn * 30_000, turn
        again = np.resize(rows, at_once)  # the same units once more: they are skipped
        queues.put(Units.of(again))
        assert 1 <= open_files() - before <= 64
    queues.abandon()
    assert open_files() == before
    for number in range(300):
        data = (tmp_path / "consumequeue" / f"T{number}" / "0" / f"{0:020}").read_bytes()
        offsets = [number * 100, number * 100 + 30_000]
        assert data == b"".join(
            offset.to_bytes(8) + bytes([0, 0, 0, 100]) + bytes(8) for offset in offsets
        ) + bytes(20)


def test_records_that_are_each_copied_to_a_hundred_queues_are_put_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All copies of a batch of 8,192 records at once, which may name thousands of queues each, would take gigabytes."""
    sizes: list[int] = []

    class Counted(QueueFiles):
        def put(self, units: Units) -> None:
            sizes.append(units.topic.size)
            super().put(units)

    monkeypatch.setattr("rocket_columnar.rebuild.queue_writer.QueueFiles", Counted)
    monkeypatch.setattr(
        "rocket_columnar.rebuild.dispatched_columns.COPIED_BYTES", 1 << 17
    )  # about 100 of these records
    queues = ",".join(f"%LMQ%{number}" for number in range(100))
    data = b""
    for number in range(600):
        offsets = ",".join([str(number)] * 100)
        copies = f"INNER_MULTI_DISPATCH\1{queues}\2INNER_MULTI_QUEUE_OFFSET\1{offsets}\2"
        data += record(len(data), queue_offset=number, properties=copies.encode())
    put(tmp_path / "store", f"commitlog/{0:020}", data)
    rebuild(tmp_path / "store", tmp_path / "out", geometry=Geometry(4, 8), queue_file_size=12000)
    assert sum(sizes) == 600 * 101
    assert max(sizes) <= 150 * 101
    (last,) = tmp_path.glob("out/consumequeue/%LMQ%99/0/*")
    assert int.from_bytes(last.read_bytes()[-20:-12]) == data.rindex(b"\xda\xa3\x20\xa7") - 4
