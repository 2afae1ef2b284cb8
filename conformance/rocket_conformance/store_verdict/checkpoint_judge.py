"""The checkpoint of a store against its log and its index files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rocket_reference import Checkpoint, checkpoint
from rocket_spec.layout import CHECKPOINT_SIZE

from rocket_conformance.store_verdict.index_bytes import StoredIndex
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.record_table import StoredRecord
from rocket_conformance.store_verdict.stored_log import StoredLog

_LONGEST_FLUSH: Final = 10_000
"""Milliseconds that a flush of all queues takes at most."""

_LONGEST_PAUSE: Final = 1_000
"""Milliseconds without a record in which no broker stops and starts again."""

_LONGEST_LAG: Final = 30_000
"""Milliseconds that the log's time may be behind the last record: three thorough flushes by default (CKP-6)."""


_FLUSHED: Final = 12_000
"""Milliseconds in which a running broker flushes its log thoroughly at least once (CKP-6)."""


def judge_checkpoint(
    log: StoredLog,
    indexes: list[StoredIndex],
    seen: Observations,
    *,
    undisturbed_from: int | None = None,
) -> None:
    """Judges the file `checkpoint`; since the record at `undisturbed_from` the broker has not been restarted.

    The log's time is that of a thorough flush (CKP-6), except in DLedger mode. The queues' time is that of the last unit once the
    broker stopped, or of an earlier unit: a flush of all queues sets it back to what it was when the flush began, whatever is
    dispatched meanwhile (DefaultMessageStore.FlushConsumeQueueService.doFlush 1943, 1959). The index time is the end of an
    index file that was full, or of one that is gone.
    """
    path = log.store / "checkpoint"
    if not path.is_file():
        seen.breaks("CKP-2", Place("checkpoint", None, "length", "no file", CHECKPOINT_SIZE))
        return
    size = path.stat().st_size
    seen.compare("CKP-2", Place("checkpoint", None, "length", size, CHECKPOINT_SIZE))
    times = checkpoint_times(path)
    seen.hold("CKP-1")
    last = next(log.records.backwards(queued=True), None)
    if last is not None and log.whole and log.stopped:
        found, expected = times.logics_msg_timestamp, last.request.store_timestamp
        if found > expected:
            seen.note("a checkpoint later than the log's end, which a recovery cut off")
        elif seen.rules.flushes_queue_time:
            flushed = log.begin > 0 or found in (
                0,
                *_times_back_to(found, log.records.backwards(queued=True)),
            )
            wanted: object = found if flushed else "0, or the store timestamp of a record"
            seen.compare("CQ-PUT-9", Place("checkpoint", 8, "logics_msg_timestamp", found, wanted, last))
        elif (
            found < expected
            and found != times.index_msg_timestamp
            and found in _times_back_to(expected - _LONGEST_FLUSH, log.records.backwards(queued=True))
        ):
            seen.note("a flush of the queues put back the queues' time, as it was when the flush began")
        else:
            place = Place("checkpoint", 8, "logics_msg_timestamp", found, expected, last)
            if seen.compare("CQ-PUT-9", place):
                seen.hold("STORE-2")
            if last.position >= log.dledger_begin:
                time, both = times.physic_msg_timestamp, "that of the queues in DLedger mode"
                seen.compare("DLG-16", Place("checkpoint", 0, "physic_msg_timestamp", time, found, both))
    _judge_log_time(times, log, seen)
    if undisturbed_from is not None and log.stopped and log.whole and not log.dledger:
        _judge_known_flush(times.physic_msg_timestamp, undisturbed_from, log, seen)
    _judge_index_time(times.index_msg_timestamp, indexes, seen, stopped=log.stopped)


def _judge_log_time(times: Checkpoint, log: StoredLog, seen: Observations) -> None:
    """The log's time is the store timestamp of a record that was flushed, of one that is gone, or 0 before any flush (CKP-4)."""
    time = times.physic_msg_timestamp
    first, last = next(iter(log.records), None), next(log.records.backwards(), None)
    if last is not None and log.whole and log.stopped and last.position < log.dledger_begin:
        _judge_lag(time, last, log, seen)
    if not time or first is None or last is None or not log.whole:
        return
    if log.begin > 0 and time < first.request.store_timestamp:
        seen.note("the log's time in the checkpoint is that of a record that is gone")
    elif last.request.store_timestamp < time <= times.logics_msg_timestamp:
        seen.note("a checkpoint later than the log's end, which a recovery cut off")
    elif time in _times_back_to(time - _LONGEST_FLUSH, log.records.backwards()):
        seen.hold("CKP-4")
    else:
        expected = "the store timestamp of a record"
        seen.breaks("CKP-4", Place("checkpoint", 0, "physic_msg_timestamp", time, expected, last))


def _judge_lag(time: int, last: StoredRecord, log: StoredLog, seen: Observations) -> None:
    """In a broker that has been written to for long enough without a pause, the log's time is at most some flushes late (CKP-6)."""
    end = later = last.request.store_timestamp
    for stored in log.records.backwards():
        now = stored.request.store_timestamp
        if not 0 <= later - now <= _LONGEST_PAUSE:
            return
        later = now
        if now < end - _LONGEST_LAG:
            break
    else:
        return
    place = Place("checkpoint", 0, "physic_msg_timestamp", time, f"at least {end - _LONGEST_LAG}", last)
    if time < end - _LONGEST_LAG:
        seen.breaks("CKP-6", place)
    else:
        seen.hold("CKP-6")


def _judge_known_flush(time: int, begin: int, log: StoredLog, seen: Observations) -> None:
    """The log's time is not before the last record that a thorough flush saw while the broker ran for certain (CKP-6)."""
    end: int | None = None
    for stored in log.records.backwards():
        now = stored.request.store_timestamp
        end = now if end is None else end
        if stored.position < begin:
            return
        if end - now >= _FLUSHED:
            expected: object = time if time >= now else f"at least {now}"
            place = Place("checkpoint", 0, "physic_msg_timestamp", time, expected, stored)
            seen.compare("CKP-6", place)
            return


def _times_back_to(time: int, records: Iterator[StoredRecord]) -> Iterator[int]:
    """Store timestamps of records, from the last to the first one before a time, ms."""
    for stored in records:
        yield stored.request.store_timestamp
        if stored.request.store_timestamp < time:
            return


def checkpoint_times(path: Path) -> Checkpoint:
    """The times of a checkpoint; a missing byte is 0, as in a file that 4.9.3 has extended (CKP-2).

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return checkpoint(file.read(CHECKPOINT_SIZE).ljust(CHECKPOINT_SIZE, b"\0"))


def _judge_index_time(time: int, indexes: list[StoredIndex], seen: Observations, *, stopped: bool) -> None:
    """The index time is the end of the last full file, once the broker stopped (IDX-SVC-18)."""
    ends = [file.header.end_timestamp for file in indexes[:-1] if file.entries]
    if not indexes or (not ends and not time):
        return
    expected = ends[-1] if ends else "0, or the end_timestamp of an index file that is gone"
    if not ends or time == ends[-1]:
        if time:
            seen.hold("IDX-SVC-18")
        return
    if not stopped and (time in ends or time == 0):
        seen.note("the index time of the checkpoint is not flushed yet")
        return
    first = indexes[0].header.begin_timestamp
    if 0 < time < first:
        seen.note("the index time of the checkpoint is that of an index file that is gone")
        return
    seen.breaks("IDX-SVC-18", Place("checkpoint", 16, "index_msg_timestamp", time, expected))
