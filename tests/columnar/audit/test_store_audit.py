"""Audits of healthy stores, of stores in use, and of oddities that are none."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from finding_codes import FINDING_CODES
from golden_logs import commitlog
from rocket_columnar.audit import LEVELS, Level, audit
from rocket_columnar.findings import CODES, Remedy, Severity
from rocket_columnar.index import IndexFile
from rocket_golden import open_store, stores
from rocket_spec.errors import UsageError
from store_bytes import BEGIN, checkpoint, ext_unit, put, record, unit

NAME = "index/20260101000000000"


@pytest.fixture(scope="module", params=sorted([*stores(log=None), *stores(unclean=True, log=None)]))
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(request.param, tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("level", LEVELS)
def test_healthy_stores_have_no_findings(golden: Path, level: Level) -> None:
    findings = list(audit(golden, level, commitlog=commitlog(golden)))
    if golden.name == "dledger-group-rejoined" and level != "quick":  # a start has deleted an index file
        assert {finding.code for finding in findings} == {"index.missing_key"}
        return
    notes = [finding.code for finding in findings if finding.severity == "note"]
    assert [finding for finding in findings if finding.severity != "note"] == []
    # A broker that was killed left its marks, which are healthy; one that was copied was writing.
    assert not notes or (
        golden.name.startswith(("killed", "live-copy", "dledger-group-killed"))
        and set(notes) <= {"index.double_entry", "store.abort", "store.lag"}
    )


def test_the_codes_are_the_published_ones() -> None:
    assert tuple(CODES) == FINDING_CODES
    assert {code.severity for code in CODES.values()} == set(get_args(Severity))
    assert {code.remedy for code in CODES.values()} <= set(get_args(Remedy))


def small_store(
    root: Path,
    *,
    topic: str = "T",
    keys: Sequence[str] = ("a", "b c", "d"),
    indexed: int | None = None,
    queued: int | None = None,
    properties: bytes = b"",
    spacing: int = 1000,
) -> list[bytes]:
    """A store of one queue with a message for each of `keys`; of the first ones units and entries."""
    records: list[bytes] = []
    put(root, "checkpoint", checkpoint(BEGIN, BEGIN, 0))
    with IndexFile(root / NAME, 16, 64) as index:
        for number, text in enumerate(keys):
            offset = sum(map(len, records))
            pairs = b"KEYS\1" + text.encode() + b"\2" + properties
            records.append(
                record(
                    offset,
                    topic=topic.encode(),
                    properties=pairs,
                    queue_offset=number,
                    store_timestamp=BEGIN + spacing * number,
                )
            )
            if indexed is None or number < indexed:
                for key in text.split(" "):
                    assert index.put(f"{topic}#{key}", offset, BEGIN + spacing * number)
    put(root, f"commitlog/{0:020}", b"".join(records).ljust(4096, b"\0"))
    units = b""
    for number, message in enumerate(records if queued is None else records[:queued]):
        units += unit(sum(map(len, records[:number])), len(message))
    put(root, f"consumequeue/{topic}/0/{0:020}", units.ljust(max(200, len(units)), b"\0"))
    return records


def found(root: Path, level: Level = "default") -> list[tuple[str, str, str, int | None]]:
    return [(finding.code, finding.severity, finding.file, finding.offset) for finding in audit(root, level)]


def test_records_that_dispatch_has_not_come_to_are_a_note(tmp_path: Path) -> None:
    records = small_store(tmp_path, indexed=1, queued=1)
    assert found(tmp_path) == [("store.lag", "note", f"commitlog/{0:020}", len(records[0]))]


@pytest.mark.usefixtures("_broker_runs")
def test_keys_of_the_last_queued_record_may_be_on_their_way_while_a_broker_runs(tmp_path: Path) -> None:
    small_store(tmp_path, indexed=2)
    assert [row[0] for row in found(tmp_path)] == ["index.missing_key"]
    (tmp_path / "abort").touch()
    assert [row[:2] for row in found(tmp_path)] == [("store.abort", "note"), ("store.lag", "note")]


@pytest.mark.usefixtures("_broker_runs")
def test_keys_behind_the_index_that_are_older_than_a_minute_are_missing_though_a_broker_runs(
    tmp_path: Path,
) -> None:
    """20 records 4 s apart, the first two indexed: the third lies 68 s before the last."""
    small_store(tmp_path, keys=[f"k{number}" for number in range(20)], indexed=2, spacing=4000)
    (tmp_path / "abort").touch()
    lost = [row for row in found(tmp_path) if row[1] != "note"]
    assert [row[0] for row in lost] == ["index.missing_key"]


@pytest.mark.usefixtures("_broker_runs")
def test_a_torn_tail_is_a_note_while_a_broker_runs(tmp_path: Path) -> None:
    records = small_store(tmp_path)
    end = sum(map(len, records))
    log = tmp_path / "commitlog" / f"{0:020}"
    data = log.read_bytes()
    torn = record(end, topic=b"T", queue_offset=3)[:50]
    log.write_bytes(data[:end] + torn + data[end + 50 :])
    assert found(tmp_path) == [("log.torn", "warning", f"commitlog/{0:020}", end)]
    (tmp_path / "abort").touch()
    assert found(tmp_path)[1:] == [("log.torn", "note", f"commitlog/{0:020}", end)]


def test_what_is_appended_behind_the_end_that_was_read_is_no_finding(tmp_path: Path) -> None:
    """Units and entries of records that came meanwhile: planted by a log file that the listing lacks."""
    small_store(tmp_path)
    following = record(4096, topic=b"T", properties=b"KEYS\1z", queue_offset=3, store_timestamp=BEGIN + 4000)
    findings = audit(tmp_path)  # lists the files
    put(tmp_path, f"commitlog/{4096:020}", following.ljust(4096, b"\0"))
    queue = tmp_path / "consumequeue/T/0" / f"{0:020}"
    queue.write_bytes(queue.read_bytes()[:60] + unit(4096, len(following)) + bytes(120))
    with IndexFile(tmp_path / NAME, 16, 64) as index:
        index.load()
        assert index.put("T#z", 4096, BEGIN + 4000)
    assert [finding.code for finding in findings if finding.code != "index.ahead_of_log"] == []


def test_a_recovered_schedule_unit_with_the_tags_hash_is_a_note(tmp_path: Path) -> None:
    """4.9.3 parses the delay levels only after recovery."""
    message = record(0, topic=b"SCHEDULE_TOPIC_XXXX", properties=b"DELAY\0013\2TAGS\1TagA")
    put(tmp_path, f"commitlog/{0:020}", message.ljust(512, b"\0"))
    name = f"consumequeue/SCHEDULE_TOPIC_XXXX/0/{0:020}"
    put(tmp_path, name, unit(0, len(message), BEGIN + 10_000).ljust(100, b"\0"))
    assert found(tmp_path) == []
    put(tmp_path, name, unit(0, len(message), 2598919).ljust(100, b"\0"))
    assert found(tmp_path) == [("queue.tags_code", "note", name, 12)]
    put(tmp_path, name, unit(0, len(message), -(1 << 63)).ljust(100, b"\0"))
    put(
        tmp_path,
        f"consumequeue_ext/SCHEDULE_TOPIC_XXXX/0/{0:020}",
        ext_unit(2598919, BEGIN, b"").ljust(100, b"\0"),
    )
    assert found(tmp_path) == [("queue.tags_code", "note", name, 12)]


def test_a_lone_empty_index_file_is_a_note(tmp_path: Path) -> None:
    message = record(0)
    put(tmp_path, f"commitlog/{0:020}", message.ljust(512, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", unit(0, len(message)).ljust(100, b"\0"))
    put(tmp_path, NAME, bytes(40 + 4 * 16 + 20 * 64))
    assert found(tmp_path, "quick") == [("index.empty", "note", NAME, None)]


def test_an_empty_log_with_indexes_that_it_does_not_back(tmp_path: Path) -> None:
    small_store(tmp_path)
    shutil.rmtree(tmp_path / "commitlog")
    put(tmp_path, f"commitlog/{0:020}", bytes(4096))
    codes = {row[0] for row in found(tmp_path)}
    assert codes == {"index.ahead_of_log", "index.entry_dangling", "queue.dangling"}


def test_a_lone_index_file_that_no_geometry_makes(tmp_path: Path) -> None:
    """39 bytes are no header; 1,385 are no 40 + 4 * slots + 20 * entries; a count of 2^24 has no room."""
    small_store(tmp_path)
    data = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(data + b"\0")
    assert found(tmp_path) == [("index.size", "error", NAME, None)]
    (tmp_path / NAME).write_bytes(data[:39])
    assert ("index.size", "error", NAME, None) in found(tmp_path)
    (tmp_path / NAME).write_bytes(data[:36] + b"\1" + data[37:])
    assert found(tmp_path) == [("index.header_count", "error", NAME, 36)]


def test_runs_of_one_kind_are_one_finding(tmp_path: Path) -> None:
    small_store(tmp_path, indexed=0, keys=[f"k{number}" for number in range(9)])
    empty, only = audit(tmp_path)
    assert (empty.code, empty.severity) == ("index.empty", "note")
    assert only.code == "index.missing_key"
    assert only.message.startswith("9 keys of the records at physical offsets 0 to ")


def test_what_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a store"):
        audit(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="a file"):
        audit(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        audit(tmp_path / "absent")
    with pytest.raises(UsageError, match="unknown level"):
        audit(tmp_path, "thorough")  # type: ignore[arg-type]


def test_a_store_without_a_commit_log(tmp_path: Path) -> None:
    small_store(tmp_path)
    shutil.rmtree(tmp_path / "commitlog")
    assert ("log.gap", "error", "commitlog", None) in found(tmp_path)
    assert found(tmp_path, "quick") == [("log.gap", "error", "commitlog", None)]


def test_a_quick_look_at_a_log_alone(tmp_path: Path) -> None:
    small_store(tmp_path)
    shutil.rmtree(tmp_path / "consumequeue")
    shutil.rmtree(tmp_path / "index")
    assert found(tmp_path, "quick") == [
        ("queue.missing_unit", "warning", "consumequeue", None),
        ("index.missing_key", "warning", "index", None),
    ]


@pytest.mark.parametrize("part", ["index", "commitlog", "consumequeue"])
def test_a_folder_of_a_store_names_the_store(part: str, tmp_path: Path) -> None:
    small_store(tmp_path)
    with pytest.raises(UsageError, match=f"the {part} folder of a store; expected the store"):
        list(audit(tmp_path / part))
