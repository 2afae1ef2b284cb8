"""Queues that multi-dispatch fills: what 4.9.3's put leaves there is healthy, all else is named (CQ-LMQ-1 to CQ-LMQ-4)."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from store_bytes import BEGIN, put, record, unit

LOG = f"commitlog/{0:020}"
LIGHT = f"consumequeue/%LMQ%a/0/{0:020}"
FILE = 20 * 10
EMPTY = bytes(20)
BLANK = unit(0, 0x7FFFFFFF)


def log_of(
    root: Path, offsets: Sequence[int | None], *, name: str = "%LMQ%a", topic: bytes = b"T", own: bytes = b""
) -> list[bytes]:
    """Records of one queue, each with its logical offset in the copies' queue, None for no copy; their units."""
    log, units = b"", []
    for number, logical in enumerate(offsets):
        copies = f"INNER_MULTI_DISPATCH\1{name}\2INNER_MULTI_QUEUE_OFFSET\1{logical}\2"
        properties = own + (b"" if logical is None else copies.encode())
        message = record(len(log), topic=topic, queue_id=1, queue_offset=number, properties=properties)
        units.append(unit(len(log), len(message)))
        log += message
    put(root, LOG, log.ljust(8192, b"\0"))
    put(root, f"consumequeue/{topic.decode()}/1/{0:020}", b"".join(units).ljust(20 * 10, b"\0")[: 20 * 10])
    return units


def queue(root: Path, *units: bytes, name: str = LIGHT) -> None:
    put(root, name, b"".join(units).ljust(FILE, b"\0"))


def found(root: Path) -> list[tuple[str, str, int | None]]:
    return [
        (finding.code, finding.file, finding.offset) for finding in audit(root) if finding.severity != "note"
    ]


@pytest.mark.parametrize(
    ("offsets", "blanks", "kept"),
    [
        pytest.param([0, 1, 2], 0, [0, 1, 2], id="at the logical offsets of their records"),
        # Offsets count from 0 again: 0 goes to place 2; 1 and 2 are below 3, the end then; 3 is not.
        pytest.param([0, 1, 0, 1, 2, 3], 0, [0, 1, 2, 5], id="after a restart those below the end are not appended"),
        pytest.param([0, 5, 6], 0, [0, 1, 2], id="a gap closes in the queue"),
        pytest.param([3, 4], 3, [0, 1], id="blanks before the first unit"),
    ],
)  # fmt: skip
def test_what_a_put_leaves_is_healthy(
    offsets: list[int], blanks: int, kept: list[int], tmp_path: Path
) -> None:
    units = log_of(tmp_path, offsets)
    queue(tmp_path, *[BLANK] * blanks, *(units[number] for number in kept))
    assert found(tmp_path) == []


def test_a_queue_that_a_record_names_twice_has_one_unit_of_it(tmp_path: Path) -> None:
    """A put skips what ends at or below the greatest offset put before."""
    copies = b"INNER_MULTI_DISPATCH\1%LMQ%a,%LMQ%a\2INNER_MULTI_QUEUE_OFFSET\x010,0\2"
    (message,) = log_of(tmp_path, [None], own=copies)
    queue(tmp_path, message)
    assert found(tmp_path) == []


def test_a_queue_of_the_record_itself(tmp_path: Path) -> None:
    copies = b"INNER_MULTI_DISPATCH\1T\2INNER_MULTI_QUEUE_OFFSET\x010\2"
    log_of(tmp_path, [None], own=copies)
    assert found(tmp_path) == []


def test_without_light_queues_the_copies_have_the_records_queue_number(tmp_path: Path) -> None:
    """`enableLmq` off: `%LMQ%a` is a topic like any other."""
    name = LIGHT.replace("/0/", "/1/")
    one, two, three = log_of(tmp_path, [0, 1, 2])
    queue(tmp_path, one, two, three, name=name)
    assert found(tmp_path) == []
    queue(tmp_path, one, EMPTY, three, name=name)
    assert found(tmp_path) == [("queue.missing_unit", name, 20)]


def test_a_queue_that_is_gone(tmp_path: Path) -> None:
    log_of(tmp_path, [None, 0, 1, 2])
    first = len(record(0, queue_id=1))
    assert found(tmp_path) == [("queue.missing_unit", LOG, first)]


def test_what_dispatch_has_not_come_to_is_not_missing(tmp_path: Path) -> None:
    units = log_of(tmp_path, [0, 1, 2])
    put(tmp_path, f"consumequeue/T/1/{0:020}", units[0].ljust(200, b"\0"))
    queue(tmp_path, units[0])
    assert found(tmp_path) == []


def test_a_delayed_copy_with_the_tags_hash_is_a_note(tmp_path: Path) -> None:
    """A recovery writes it so in the schedule queue and in the copies' alike."""
    units = log_of(tmp_path, [0], topic=b"SCHEDULE_TOPIC_XXXX", own=b"DELAY\x013\2TAGS\1TagA\2")
    hashed = units[0][:12] + (2598919).to_bytes(8)
    delivered = units[0][:12] + (BEGIN + 10_000).to_bytes(8)
    put(tmp_path, f"consumequeue/SCHEDULE_TOPIC_XXXX/1/{0:020}", hashed.ljust(200, b"\0"))
    queue(tmp_path, hashed)
    assert found(tmp_path) == []
    put(tmp_path, f"consumequeue/SCHEDULE_TOPIC_XXXX/1/{0:020}", delivered.ljust(200, b"\0"))
    queue(tmp_path, delivered)
    assert found(tmp_path) == []


ALL_THREE, GAP = [0, 1, 2], [0, 5, 6]


@pytest.mark.parametrize(
    ("offsets", "there", "code", "at"),
    [
        pytest.param(ALL_THREE, [None, 1, 2], "missing_unit", 0, id="the first lost"),
        pytest.param(ALL_THREE, [0, None, 2], "missing_unit", 20, id="the second lost"),
        pytest.param(ALL_THREE, [0, 1, None], "missing_unit", 40, id="the last lost"),
        pytest.param([*GAP, 7], [0, 1, None, 3], "missing_unit", 40, id="lost after a gap"),
        # Without the lost one, 1 would have been passed over: the queue ended at 2, and 2 is put.
        pytest.param([0, 0, 1, 2], [0, None, 3], "missing_unit", 20, id="the first lost after a restart"),
        pytest.param(ALL_THREE, [0, 2], "missing_unit", 20, id="one left out, what follows has moved up"),
        pytest.param(ALL_THREE, [0, 2, 1], "order", 20, id="in another order"),
        pytest.param(GAP, [0, 1, 1, 2], "order", 40, id="put twice"),
        pytest.param([0, None, 2], [0, 1, 2], "wrong_target", 20, id="of a record that names other queues"),
    ],
)
def test_what_no_put_leaves(
    offsets: list[int | None], there: list[int | None], code: str, at: int, tmp_path: Path
) -> None:
    units = log_of(tmp_path, offsets)
    queue(tmp_path, *(EMPTY if number is None else units[number] for number in there))
    assert found(tmp_path) == [(f"queue.{code}", LIGHT, at)]


def test_a_damaged_unit_is_told_once(tmp_path: Path) -> None:
    one, _, three = log_of(tmp_path, [0, 1, 2])
    queue(tmp_path, one, unit(1 << 40, 100), three)
    assert found(tmp_path) == [("queue.dangling", LIGHT, 20)]
