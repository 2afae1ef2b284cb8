"""Batch queues of a store of 5.5.1 (`tests/spec/later/`): healthy, with damaged units, rebuilt beside them."""

import shutil
import struct
from pathlib import Path
from typing import Final

import pytest
import store_bytes
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit
from rocket_spec.layout import Geometry
from store_bytes import overwrite

LATER: Final = Path(__file__).parents[2] / "spec" / "later"
QUEUE: Final = f"batchconsumequeue/Batched/0/{460:020}"


@pytest.fixture(params=["store", "crc"])
def healthy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shutil.unpack_archive(LATER / f"{request.param}.zip", tmp_path / "store")
    return tmp_path / "store"


def test_two_units_of_one_record_are_out_of_order(healthy: Path) -> None:
    before = (healthy / QUEUE).read_bytes()[2 * 46 :][:8]
    overwrite(healthy / QUEUE, 3 * 46, before)
    (found,) = (one for one in audit(healthy) if one.code == "queue.order")
    assert found.offset == 3 * 46


def test_a_unit_of_another_queue_is_found(healthy: Path) -> None:
    other = (healthy / "batchconsumequeue" / "Batched" / "1" / f"{0:020}").read_bytes()
    overwrite(healthy / QUEUE, 3 * 46, other[46 : 46 + 28])
    assert "queue.wrong_target" in {finding.code for finding in audit(healthy)}


def test_a_number_of_messages_of_5_000_digits(tmp_path: Path) -> None:
    """It is no Java int, so the record counts as one message: the unit of 2 is found, and the audit ends."""
    properties = b"INNER_BASE\x010\x02INNER_NUM\x01" + b"9" * 5_000 + b"\x02"
    stored = store_bytes.record(0, topic=b"Batched", properties=properties)
    store_bytes.put(tmp_path, f"commitlog/{0:020}", stored.ljust(1 << 16, b"\0"))
    unit = struct.pack(">qiqqqhii", 0, len(stored), 0, store_bytes.BEGIN, 0, 2, -1, 0)
    store_bytes.put(tmp_path, f"batchconsumequeue/Batched/0/{0:020}", unit)
    found = [finding for finding in audit(tmp_path) if finding.file.startswith("batchconsumequeue")]
    assert [(finding.code, finding.offset) for finding in found] == [("queue.wrong_target", 36)]


def test_a_rebuild_leaves_batch_queues(healthy: Path, tmp_path: Path) -> None:
    """A broker of 5.x does not start with both kinds of queues of a topic (`ConsumeQueueStore.queueTypeShouldBe`)."""
    result = rebuild(healthy, tmp_path / "rebuilt", geometry=Geometry(61, 200))
    assert sorted(path.name for path in (tmp_path / "rebuilt" / "consumequeue").iterdir()) == [
        "L" * 200,
        "Plain",
    ]
    for path in (tmp_path / "rebuilt" / "consumequeue").glob("*/*/*"):
        assert path.read_bytes() == (healthy / path.relative_to(tmp_path / "rebuilt")).read_bytes()
    assert not result.findings
