"""A start over a store against the reference's, and a broker that is killed under a workload: what was deleted, cut off and dispatched again."""

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Final

from rocket_reference import IndexService, QueueUnit, StoreCheckpoint, queue_units
from rocket_spec.layout import QUEUE_UNIT, Geometry
from rocket_spec.profiles import Profile

from rocket_conformance.files import copy_sparse
from rocket_conformance.reference_adapter import REFERENCE, Library
from rocket_conformance.store_verdict.judgement import StoreVerdict, judge_store
from rocket_conformance.store_verdict.misread import reading_that_starts
from rocket_conformance.store_verdict.observations import (
    Entries,
    Entry,
    Observations,
    Place,
    known_geometry,
    numbered_files,
    read_index,
)
from rocket_conformance.store_verdict.stored_log import Audit, StoredLog, read_log, store_of
from rocket_conformance.workload import Broker, Client, Manifest, run_crashes, send_for_the_bound

_UNIT: Final = QUEUE_UNIT.size
_BYTES_AT_ONCE: Final = 50_000 * _UNIT
_PARTS: Final = ("commitlog", "consumequeue", "consumequeue_ext", "index", "checkpoint", "abort")


Look = Callable[[Path], Any]
"""Looks at the store in a directory."""


def judge_restart(before: Path, after: Path, seen: Observations, look: Look) -> None:
    """Judges a start over a store, crashed or not, followed by a clean stop.

    The reference starts over a copy of the store. What it has then, the broker must have too, and may have more:
    what it stored itself since.

    In DLedger mode the reference loads the index files alone. The entries are there again (DLG-17), unless another member
    led the group meanwhile, which is noted; and keys of deleted index files do not come back (DLG-13).

    Args:
        before: the store as the crash or the stop left it; it is not changed.
        after: the store after the broker started over it and stopped cleanly.
        seen: takes what is observed.
        look: gives the facts of a store.

    Raises UsageError: the geometry cannot be inferred.
    """
    facts = look(before)
    log, log_after = read_log(facts, Observations()), read_log(look(after), Observations())
    geometry = known_geometry(facts)
    sides = _Side(before, geometry), _Side(after, geometry)
    if log.dledger:
        _judge_log(log, log_after, seen, clause="DLG-17", where="the log of DLedger")
        with _copy(before) as expected:
            _load_indexes(expected, geometry)
            kept = _Side(expected, geometry)
            _judge_kept(*sides, kept, seen)
            _judge_new_entries(*sides, kept, seen)
    else:

        def judged(library: Library) -> Observations:
            return _judge_start(*sides, log_after, library, look, seen.profile)

        own = judged(REFERENCE)
        reading = reading_that_starts(lambda library: not judged(library).broken) if own.broken else None
        if reading is not None:
            own.explain(reading.clause, reading.rule)
        seen.add(own)
    place = Place("abort", None, "after a clean stop", (after / "abort").exists(), expected=False)
    seen.compare("STORE-2", place)


@dataclass(frozen=True, slots=True)
class _Side:
    """A store before a start, after the broker's, or after the reference's."""

    store: Path
    geometry: Geometry

    @property
    def names(self) -> list[str]:
        return [path.name for _, path in numbered_files(self.store / "index")]

    def has(self, name: str) -> bool:
        return (self.store / "index" / name).exists()

    def of(self, name: str) -> Entries:
        return read_index(self.store / "index" / name, f"index/{name}", self.geometry).entries

    def entries(self, names: Iterable[str]) -> Iterator[Entry]:
        return chain.from_iterable(map(self.of, names))

    def queues(self) -> list[str]:
        """The folders of queues, relative to the store."""
        found = (queue for topic in _folders(self.store / "consumequeue") for queue in _folders(topic))
        return [queue.relative_to(self.store).as_posix() for queue in found]


def _folders(path: Path) -> list[Path]:
    """The folders in one, by name; links are left out."""
    if not path.is_dir():
        return []
    return sorted(child for child in path.iterdir() if child.is_dir() and not child.is_symlink())


def _units_of(folder: Path) -> Iterator[tuple[int, QueueUnit]]:
    """The units of a queue's files with their logical offsets, those of each file up to the first unused one."""
    for base, path in numbered_files(folder):
        yield from _used_units(path, base)


def _used_units(path: Path, base: int) -> Iterator[tuple[int, QueueUnit]]:
    """The units of a file, read as far as they are used."""
    with path.open("rb") as file:
        for number in itertools.count():
            data = os.pread(file.fileno(), _BYTES_AT_ONCE, number * _BYTES_AT_ONCE)
            count = 0
            for logical, unit in queue_units(
                data[: len(data) // _UNIT * _UNIT], base + number * _BYTES_AT_ONCE
            ):
                count += 1
                yield logical, unit
            if count * _UNIT < _BYTES_AT_ONCE:
                return


@contextmanager
def _copy(store: Path) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as folder:
        for part in _PARTS:
            if (store / part).exists():
                copy_sparse(store / part, Path(folder) / part)
        yield Path(folder)


def _judge_start(
    before: _Side, after: _Side, log: StoredLog, library: Library, look: Look, profile: Profile
) -> Observations:
    """Observations of a start of the reference, or one that misreads a clause, over a copy of a plain store."""
    seen, crashed = Observations(profile=profile), (before.store / "abort").exists()
    with _copy(before.store) as folder:
        start_over(look(folder), library)
        expected = _Side(folder, before.geometry)
        kept, clause = read_log(look(folder), Observations()), "STORE-12" if crashed else "STORE-6"
        _judge_log(kept, log, seen, clause=clause, where="commitlog")
        last = before.names[-1:]
        if not crashed and any(
            after.has(name) and len(after.of(name)) > len(before.of(name)) for name in last
        ):
            seen.hold("IDX-LOAD-1", "IDX-SVC-5")
        _judge_kept(before, after, expected, seen)
        dispatched_again = _judge_indexes(before, after, expected, seen)
        same_units = _judge_queues(after, expected, seen)
        if crashed and dispatched_again and same_units:
            seen.hold("CQ-PUT-1", "LOG-DSP-13")
    return seen


def start_over(facts: Any, library: Library) -> None:
    """Lets the reference load, start and stop over a store, configured as its broker, as far as that is known."""
    store, conf, geometry = store_of(facts), facts.conf, known_geometry(facts)
    last = max((number for number, _ in numbered_files(store / "index")), default=0)
    names = (f"{number:017}" for number in itertools.count(max(last, 20_000_000_000_000_000) + 1))
    config = library.StoreConfig(
        commit_log_file_size=_file_size(store / "commitlog", conf.log_file_size if conf else 1 << 30),
        queue_file_size=_file_size(store / "consumequeue", conf.queue_file_size if conf else 6_000_000),
        ext_file_size=_file_size(store / "consumequeue_ext", 0) or None,
        hash_slot_num=geometry.hash_slot_num,
        index_num=geometry.index_num,
        message_index_enable=facts.index_enabled,
        message_index_safe=conf is not None and conf.index_safe,
        multi_dispatch=facts.multi_dispatch,
        lmq=facts.light,
    )
    started = library.MessageStore(
        store, config, new_index_name=lambda: next(names), sleep=lambda _milliseconds: None
    )
    if started.load():
        started.start()
        started.shutdown()
    else:
        started.close()
    shutil.rmtree(store / "lock", ignore_errors=True)


def _file_size(folder: Path, default: int) -> int:
    """Length of the files of a kind: that of the first one found."""
    return next((path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()), default)


def _load_indexes(store: Path, geometry: Geometry) -> None:
    times = StoreCheckpoint(store / "checkpoint")
    service = IndexService(store / "index", *geometry, new_name=str, checkpoint=times)
    service.load(last_exit_ok=not (store / "abort").exists())
    service.close()


def _judge_log(kept: StoredLog, found: StoredLog, seen: Observations, *, clause: str, where: str) -> None:
    for number, (record, other) in enumerate(zip_longest(kept.records, found.records)):
        if record is None:
            return
        if other is None and record.position >= kept.committed:
            seen.note("entries that were not committed, which another leader of the group cut off")
            return
        actual = "no record" if other is None else other.position
        place = Place(where, None, f"record {number}", actual, record.position, record)
        if not seen.compare(clause, place):
            return


def _judge_kept(before: _Side, after: _Side, expected: _Side, seen: Observations) -> None:
    for name in before.names:
        found, wanted = ("kept" if side.has(name) else "deleted" for side in (after, expected))
        seen.compare("IDX-SVC-6", Place(f"index/{name}", None, "after the start", found, wanted))


def _judge_new_entries(before: _Side, after: _Side, expected: _Side, seen: Observations) -> None:
    """Judges where the entries of new index files begin: keys of deleted ones do not come back (DLG-13)."""
    units = (unit for queue in before.queues() for _, unit in _units_of(before.store / queue))
    dispatched = max((unit.phy_offset + unit.size for unit in units if not unit.pre_blank), default=0)
    old = before.names
    lost = before.entries(name for name in old if not expected.has(name))
    if not any(entry.phy_offset < dispatched for entry in lost):
        return
    entry = next(after.entries(name for name in after.names if name not in old), None)
    first = dispatched if entry is None else entry.phy_offset
    wanted: object = first if first >= dispatched else f"{dispatched:,} or more, where the queues ended"
    place = Place("index", None, "physical offset of the first new entry", first, wanted)
    seen.compare("DLG-13", place)


def _judge_indexes(before: _Side, after: _Side, expected: _Side, seen: Observations) -> bool:
    """Judges which entries recovery repeats (STORE-11); whether it dispatched records again."""
    crashed = (before.store / "abort").exists()
    others = after.entries(after.names)
    for number, entry in enumerate(expected.entries(expected.names), 1):
        other = next(others, None)
        found = (other.key_hash, other.phy_offset) if other else "no entry"
        what = f"entry {number} over all files"
        place = Place("index", None, what, found, (entry.key_hash, entry.phy_offset))
        if not seen.compare("STORE-11" if crashed else "IDX-LOAD-1", place):
            return False
    deleted = [name for name in before.names if not expected.has(name)]
    kept = sum(len(before.of(name)) for name in before.names if expected.has(name))
    if not crashed or not deleted or next(expected.entries(expected.names), None) is None:
        return False
    lost = next(before.entries(deleted), None)
    new = next(islice(expected.entries(expected.names), kept, None), None)
    if lost and new and new.phy_offset > lost.phy_offset:
        # keys are lost for good: dispatch began after them, at a file that follows from the checkpoint
        seen.hold("CKP-3")
    return True


def _judge_queues(after: _Side, expected: _Side, seen: Observations) -> bool:
    """Whether the units that recovery keeps or makes again are there (STORE-14)."""
    for queue in expected.queues():
        found = dict(_units_of(after.store / queue))
        for logical, unit in _units_of(expected.store / queue):
            place = Place(queue, None, f"unit {logical}", found.get(logical), unit)
            if not seen.compare("STORE-14", place):
                return False
    return True


def judge_continuation(facts: Any, starts: Sequence[int], seen: Observations) -> None:
    """Judges that queues went on where they were when the log ended at these starts: the logical offsets, and the places of the units."""
    store = store_of(facts)
    log = read_log(facts, Observations())
    last: dict[tuple[str, int], tuple[int, int]] = {}
    for stored in log.records:
        request = stored.request
        queue = stored.queue
        if queue is None:
            continue
        position, offset = last.get(queue, (-1, -1))
        last[queue] = stored.position, request.consume_queue_offset
        if offset < 0 or not any(position < start <= stored.position for start in starts):
            continue
        place = Place(f"commitlog position {stored.position:,}", None, "queue_offset",
                      request.consume_queue_offset, offset + 1, stored)  # fmt: skip
        if seen.compare("STORE-13", place):
            unit = dict(_units_of(store / "consumequeue" / queue[0] / str(queue[1]))).get(offset + 1)
            found = unit.phy_offset if unit is not None else "no unit"
            where = f"consumequeue/{queue[0]}/{queue[1]}"
            place = Place(where, None, f"unit {offset + 1}", found, stored.position, stored)
            if seen.compare("CQ-REC-3", place):
                seen.hold("CQ-LOAD-1", "CQ-REC-2")


_FOLLOWING: Final = (
    ({"CKP-3", "IDX-LOAD-1", "IDX-SVC-6", "STORE-11"}, ("IDX-",)),
    ({"STORE-13"}, ("CQ-", "LOG-REC-6")),
)
"""Clauses on starts, and the beginnings of those that the store then seems to break."""


def judge_crashes(
    broker: Broker,
    open_client: Callable[[], Client],
    send: Callable[[Client], Manifest],
    store: Path,
    *,
    kills: int,
    look: Look,
    audit: Audit,
    on_step: Callable[[str, Manifest], object],
    profile: Profile,
) -> StoreVerdict:
    """Starts a broker, sends to it, kills and restarts it; the verdict on its store and on each start.

    The broker is not running, and is left stopped. `open_client` gives a client of its name server once it is started; `look`
    gives the facts of a store; `on_step` is called after the workload, and after each restart, with what was done and all that was
    acknowledged.

    Raises ClientError: when the client ends, or the broker does not stop.
    """
    seen = Observations(profile=profile)
    starts: list[int] = []
    with ExitStack() as ended:
        copies = Path(ended.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-")))
        broker.start()
        ended.callback(broker.kill)
        client = ended.enter_context(open_client())
        manifest = send(client)
        if kills:
            send_for_the_bound(client, manifest)
        broker.stop()
        judge_store(look(store), audit, manifest=manifest, seen=seen)
        on_step("workload", manifest)

        def stopped(number: int) -> None:
            copy_sparse(store, copies / str(number))
            starts.append(read_log(look(store), Observations()).end)

        def restarted(number: int) -> None:
            judge_restart(copies / str(number), store, seen, look)
            on_step(f"kill {number}" if number <= kills else "clean restart", manifest)

        manifest.answers.clear()
        manifest.kills = kills
        run_crashes(broker, client, manifest, kills=kills, on_crash=stopped, on_restart=restarted)
        judge_continuation(look(store), starts, seen)
    verdict = judge_store(look(store), audit, manifest=manifest, seen=Observations(profile=seen.profile))
    if "CQ-PUT-1" in verdict.observations.broken:  # a queue with a unit too many goes on after it
        for found in (seen, verdict.observations):
            found.leave_out(
                ("STORE-13", "LOG-REC-6"), "logical offsets, which may follow from repeated units"
            )
    for of_starts, heads in _FOLLOWING:
        if seen.broken.keys() & of_starts:
            verdict.observations.leave_out(
                heads, "wrong entries or units, which may follow from wrong starts"
            )
    seen.add(verdict.observations)
    return replace(verdict, observations=seen)
