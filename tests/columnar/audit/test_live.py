"""Audits of a log that grows while it is read."""

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from threading import Timer

import pytest
from rocket_columnar.audit import Surveys, audit, check_range, findings, plan_audit, survey_file
from rocket_columnar.findings import Finding
from rocket_golden import open_damaged
from store_bytes import BEGIN as T
from store_bytes import checkpoint, ext_unit, put, record, unit

pytestmark = pytest.mark.usefixtures("_broker_runs")

FIRST, SECOND = record(0), record(len(record(0)))
SIZE = 4096
quick = partial(audit, level="quick")
OLD = FIRST.ljust(SIZE, b"\0")


@pytest.mark.parametrize(
    ("age", "codes"), [(0, []), (300, ["checkpoint.behind"])], ids=["just written", "not written for long"]
)
def test_a_message_after_a_quiet_hour(age: int, codes: list[str], tmp_path: Path) -> None:
    """Each minute a broker writes the checkpoint, with the times of the last message that it had flushed by then."""
    later = record(len(FIRST), queue_offset=1, store_timestamp=T + 3_600_000)
    put(tmp_path, f"commitlog/{0:020}", (FIRST + later).ljust(SIZE, b"\0"))
    for name, content in (("checkpoint", checkpoint(T, T, 0)), ("abort", b"")):
        path = put(tmp_path, name, content)
        written = path.stat().st_mtime - age
        os.utime(path, (written, written))
    assert [one.code for one in quick(tmp_path) if one.code.startswith("checkpoint.")][:1] == codes


def test_an_ext_file_that_is_made_meanwhile(tmp_path: Path) -> None:
    put(tmp_path, f"commitlog/{0:020}", OLD)
    put(tmp_path, f"consumequeue/T/0/{0:020}", unit(0, len(FIRST), -(1 << 63)) + bytes(20))
    put(tmp_path, "abort", b"")
    plan = plan_audit(tmp_path)
    put(tmp_path, f"consumequeue_ext/T/0/{0:020}", ext_unit(0, T, b"").ljust(100, b"\0"))
    surveys = Surveys.of(survey_file(plan.store, file) for file in plan.store.queues)
    results = [check_range(plan, surveys, part) for part in plan.ranges]
    assert [finding.code for finding in findings(plan, surveys, results)] == ["store.abort"]


@pytest.mark.parametrize("audited", [audit, quick])
def test_a_queue_file_that_gets_its_length_a_moment_later(
    tmp_path: Path, audited: Callable[[Path], Iterable[Finding]]
) -> None:
    put(tmp_path, f"commitlog/{0:020}", (FIRST + record(len(FIRST), topic=b"U")).ljust(SIZE, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", unit(0, len(FIRST)) + bytes(20))
    put(tmp_path, "abort", b"")
    put(tmp_path, f"consumequeue/U/0/{0:020}", b"")
    timer = Timer(0.05, os.truncate, (tmp_path / f"consumequeue/U/0/{0:020}", 40))
    timer.start()
    assert [finding.code for finding in audited(tmp_path) if finding.severity != "note"] == []
    timer.join()


@pytest.mark.parametrize("damage", ["mixed-log-crc", "mixed-queue-order"])
@pytest.mark.parametrize("left", [b"", b"\x7f" * 200])
def test_a_log_file_that_is_cut_or_changed_after_the_scan(
    damage: str, left: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message re-reads what the scan found."""
    store = open_damaged(damage, tmp_path)
    monkeypatch.setattr("rocket_columnar.audit.log_check.read_at", lambda _file, _at, size: left[:size])
    assert {finding.code for finding in audit(store, "deep")} >= (
        {"log.crc"} if "crc" in damage else {"queue.order"}
    )
