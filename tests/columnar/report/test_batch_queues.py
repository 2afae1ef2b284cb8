"""Batch queues of a store of 5.5.1 (`tests/spec/later/`): healthy, with damaged units, rebuilt beside them."""

import shutil
import struct
from pathlib import Path
from typing import Final

import pytest
import store_bytes
from rocket_columnar.audit import Level
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


@pytest.mark.parametrize("level", ["quick", "default", "deep"])
def test_a_healthy_store_has_no_findings(healthy: Path, level: Level) -> None:
    report = audit(healthy, level)
    assert list(report) == []
    assert "batch" in {sign.kind for sign in report.signs}


@pytest.mark.parametrize(
    ("at", "data", "codes"),
    [
        (0, (7).to_bytes(8), {"queue.dangling", "queue.order", "queue.missing_unit"}),
        (0, (1 << 40).to_bytes(8), {"queue.dangling", "queue.order", "queue.missing_unit"}),
        (8, (17).to_bytes(4), {"queue.dangling"}),
        (12, (1).to_bytes(8), {"queue.wrong_target"}),
        (20, (1).to_bytes(8), {"queue.wrong_target"}),
        (28, (1).to_bytes(8), {"queue.wrong_target", "queue.order", "queue.gap"}),
        (36, (9).to_bytes(2), {"queue.wrong_target", "queue.order"}),
    ],
)
def test_a_damaged_unit_gives_a_finding(healthy: Path, at: int, data: bytes, codes: set[str]) -> None:
    overwrite(healthy / QUEUE, 3 * 46 + at, data)
    report = audit(healthy)
    assert {finding.code for finding in report} == codes
    assert {finding.cure for finding in report} == {""}
    assert all(QUEUE in finding.file or finding.file.startswith("batchconsumequeue/") for finding in report)
    assert not any(cause.cure or cause.commands for cause in report.causes)


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


def test_a_file_that_does_not_belong_in_a_queue_is_found(healthy: Path) -> None:
    """5.5.0's broker does not start with it; it passes over folders (`MappedFileQueue.doLoad`)."""
    folder = QUEUE.rpartition("/")[0]
    (healthy / folder / "folder").mkdir()
    (healthy / folder / "copy").write_bytes(b"x")
    (found,) = audit(healthy)
    assert (found.code, found.severity, found.file) == ("queue.size", "error", f"{folder}/copy")


def test_a_missing_file_is_a_gap(healthy: Path) -> None:
    (healthy / QUEUE).unlink()
    assert {finding.code for finding in audit(healthy)} == {"queue.gap", "queue.missing_unit"}


@pytest.mark.parametrize("zeroed", ["unit", "file", "queue", "all"])
def test_a_record_without_a_unit_is_found(zeroed: str, healthy: Path) -> None:
    """The broker was stopped; a consumer gets nothing of what is zeros now."""
    folder = healthy / "batchconsumequeue" / "Batched"
    paths = {"queue": sorted(folder.glob("0/*")), "all": sorted(folder.glob("*/*"))}.get(
        zeroed, [healthy / QUEUE]
    )
    for path in paths:
        overwrite(path, 0, bytes(46 if zeroed == "unit" else path.stat().st_size))
    report = audit(healthy)
    missing = [found for found in report if found.code == "queue.missing_unit"]
    queues = ["0", "1"] if zeroed == "all" else ["0"]
    assert [found.file for found in missing] == [f"batchconsumequeue/Batched/{queue}" for queue in queues]
    assert not any(cause.cure or cause.commands for cause in report.causes)
    assert {found.clause for found in missing} == {"BCQ-3"}


def test_missing_units_of_its_other_queues_are_found(healthy: Path) -> None:
    (healthy / "consumequeue" / "Plain" / "0" / f"{0:020}").unlink()
    assert "queue.missing_unit" in {finding.code for finding in audit(healthy)}


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


def test_a_checksum_of_properties_is_verified(tmp_path: Path) -> None:
    """LOG-PROP-8: the flag of a record is changed, which no checksum of the body covers; then its body."""
    shutil.unpack_archive(LATER / "crc.zip", tmp_path)
    log = tmp_path / "commitlog" / f"{0:020}"
    assert list(audit(tmp_path, "deep")) == []
    overwrite(log, 16, b"\1")
    (found,) = audit(tmp_path, "deep")
    assert (found.code, found.clause, found.file, found.offset) == (
        "log.crc",
        "LOG-PROP-8",
        f"commitlog/{0:020}",
        0,
    )
    assert "property __CRC32#" in found.message
    overwrite(log, 88, b"B")
    (found,) = audit(tmp_path, "deep")
    assert (found.code, found.clause, found.offset) == ("log.crc", "LOG-REC-4", 88)
