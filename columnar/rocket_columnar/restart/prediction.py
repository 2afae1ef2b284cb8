"""Predicts what a start of a broker on a store would delete, from where it would dispatch again, and what is lost for good."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.profiles import GROUND, Profile, profile, releases

from rocket_columnar import audit, facts, log
from rocket_columnar.formats import hash_key, index_key
from rocket_columnar.index import hashes_at
from rocket_columnar.restart.queues import (
    Redispatched,
    deleted_exts,
    dispatched_again,
    ext_refusal,
    undelivered,
)
from rocket_columnar.restart.recovery import (
    Deletion,
    deleted_indexes,
    deleted_logs,
    entry_log,
    passed_gap,
    refusal,
    too_long_record,
    walked_end,
)
from rocket_columnar.store import Sign, StoreFile, WorkDone, read_at, size_of

# Keys that are in no index file that a start leaves, of records that it does not dispatch again.


class LostKey(NamedTuple):
    """One key of a record that no index file would hold any more; `key` is None if its text can no longer be read from the record."""

    topic: str
    key: str | None
    phy_offset: int
    key_hash: int


@dataclass(frozen=True, slots=True)
class LostKeys:
    """Keys that no index file would hold any more, by their records' ascending physical offsets; iterating reads their texts from the logs."""

    phy_offset: NDArray[np.int64]
    key_hash: NDArray[np.int32]
    logs: tuple[StoreFile, ...] = ()

    @classmethod
    def none(cls) -> LostKeys:
        """No keys."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int32))

    def __len__(self) -> int:
        return self.phy_offset.size

    def with_records(self, hashes: Mapping[int, Sequence[int]]) -> LostKeys:
        """These, and those of further records, by their physical offsets."""
        more = [(at, one) for at, every in hashes.items() for one in every]
        offsets = np.append(self.phy_offset, np.array([at for at, _ in more], np.int64))
        every = np.append(self.key_hash, np.array([one for _, one in more], np.int32))
        order = np.argsort(offsets, kind="stable")
        return LostKeys(offsets[order], every[order], self.logs)

    def without(self, others: LostKeys) -> LostKeys:
        """Those that are not among others."""
        own, other = (
            zip(one.phy_offset.tolist(), one.key_hash.tolist(), strict=True) for one in (self, others)
        )
        left = {*other}
        kept = np.array([key not in left for key in own], np.bool_)
        return LostKeys(self.phy_offset[kept], self.key_hash[kept], self.logs)

    @property
    def records(self) -> int:
        """How many records they belong to."""
        return int(np.unique(self.phy_offset).size)

    def __iter__(self) -> Iterator[LostKey]:
        texts: dict[int, list[str]] = {}
        topic, at = "", -1
        with log.StoredRecords(self.logs) as records:
            for offset, key_hash in zip(self.phy_offset.tolist(), self.key_hash.tolist(), strict=True):
                if offset != at:
                    at, texts = offset, {}
                    topic, keys = _keys_of(records.at(offset, shifted=True))
                    for key in keys:
                        texts.setdefault(hash_key(index_key(topic, key)), []).append(key)
                held = texts.get(key_hash)
                text = None if not held else held.pop(0) if len(held) > 1 else held[0]
                yield LostKey(topic, text, offset, key_hash)


def _keys_of(record: log.VerifiedRecord | None) -> tuple[str, list[str]]:
    """Topic and keys of a record."""
    if record is None:
        return "", []
    names = (record.pairs.get(b"UNIQ_KEY", b""), *record.pairs.get(b"KEYS", b"").split(b" "))
    return record.topic, [name.decode() for name in names if name]


def lost_keys(
    store: facts.Store, deleted: AbstractSet[str], passed: Sequence[tuple[int, int]], work: WorkDone
) -> LostKeys:
    """Keys of records that a start does not index and that no index file but `deleted` ones has, range by range.

    A query follows no slot to an entry that the header's index count does not include. `passed` are the physical offsets after which and before
    which records begin that a start does not index; `work` counts the bytes of the index files and of the log before the last of these.
    """
    plan, kept = audit.plan_audit(store), [file for file in store.opened_indexes if file.name not in deleted]
    ranges = [part for part in plan.ranges if part.begin < max(stop for _, stop in passed)]
    sizes = [size_of(file) or 0 for file in kept]
    work.expect(sum(sizes) + sum(part.size for part in ranges))
    surveys = []
    for file, size in zip(kept, sizes, strict=True):
        survey = audit.survey_file(store, file)
        if isinstance(survey, audit.IndexSurvey):
            surveys.append(replace(survey, count=min(survey.count, max(survey.header.index_count, 1))))
        work.add(size)
    targets = audit.Surveys.of(surveys).indexes
    offsets, hashes = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    start: int | None = None
    for part in ranges:
        result = audit.RangeResult(part, part.begin, part.end)
        frames = audit.read_frames(plan, part, None if part.exact else start, result)
        start = result.next
        every = frames.all
        owner = np.repeat(np.arange(every.phy_offset.size), every.key_count)
        codes, safe = (owner << 31) | every.key_hash, audit.entries_of(store, targets, frames, result) != 0
        at = every.phy_offset[owner]
        chosen = np.logical_or.reduce([(at > after) & (at < stop) for after, stop in passed])
        lost = chosen & ~safe & ~np.isin(codes, codes[safe])  # a message may have one key twice
        offsets.append(every.phy_offset[owner][lost])
        hashes.append(every.key_hash[lost])
        work.add(part.size)
    return LostKeys(np.concatenate(offsets), np.concatenate(hashes), store.logs)


# What a start of 5.x does differently from one of 4.9.3, as the `start` of a release's profile names it.
#
# Read beside `CommitLog.recoverNormally` 345-430 and `recoverAbnormally` 745-890 of 5.5.0, `recoverNormally` 325-415 of 5.3.3.


_NOT_FOLLOWED: Final = {
    "batch": "queues of batch messages",
    "rocksdb": "queues in RocksDB",
    "index": "the index in RocksDB",
}
"""Kinds of signs of what a start changes and is not predicted."""


def candidates(signs: Sequence[Sign], version: str | None) -> tuple[Profile, ...]:
    """The profiles of the releases that may start on a store with these signs, the newest of each kind of start; one if `version` or bytes name it."""
    if version is not None:
        return (profile(version),)
    if not signs:
        return (profile(GROUND),)
    order = releases().index
    since = max((order(sign.since) for sign in signs if sign.since), default=0)
    tagged = any(sign.kind == "tags" for sign in signs)
    known = [
        found
        for found in map(profile, releases()[since:])
        if found.start and (found.rules.get("has_tag_keys") or not tagged)
    ]
    return tuple({tuple(found.start.items()): found for found in known}.values())


def refuse_unpredicted(store: facts.Store, release: Profile) -> None:
    """Raises a UsageError that names what of a start is not predicted, if the store has it."""
    found = [_NOT_FOLLOWED[sign.kind] for sign in store.signs if sign.kind in _NOT_FOLLOWED]
    if release.rules.get("deletes_empty_last_file") and any(
        not size_of(file) for file in (*store.logs, *store.queues)
    ):
        found.append(f"a file of length 0, which {release.version} deletes if it is the last one")
    if found:
        raise UsageError(f"{store.path}: the start is not predicted with {', '.join(dict.fromkeys(found))}")


def walk_start(store: facts.Store, release: Profile, *, clean: bool, index_safe: bool) -> int:
    """Physical offset from which a start of a release walks the log."""
    times = store.checkpoint_times
    most = release.start.get("most_files", 0)
    logs = store.logs[-most:]
    if clean and release.start.get("dispatches") == "after_queues":
        greatest = greatest_end(store)
        for file in reversed(logs):
            head = facts.first_record(file)
            begin = (head[0] if head else None) if most else file.base_offset
            if begin is not None and begin <= greatest:
                return file.base_offset
        return logs[0].base_offset if logs else 0
    if clean or release.start.get("recovers_from") != "queue_offset":
        return facts.recovery_start(
            logs if not clean else store.logs, times, clean=clean, index_safe=index_safe
        )
    return next(_matched(logs, store, index_safe=index_safe), logs[0].base_offset if logs else 0)


def _matched(logs: Sequence[StoreFile], store: facts.Store, *, index_safe: bool) -> Iterator[int]:
    """The files from which 5.5.0 may recover, the newest first."""
    _, logics, index = store.checkpoint_times
    raw = read_at(store.checkpoints[0], 40, 8) if store.checkpoints else b""
    offset = int.from_bytes(raw, signed=True)
    for file in reversed(logs):
        head = facts.first_record(file)
        if head is None or (index_safe and head[1] > index):
            continue
        if head[0] <= offset if offset > 0 else head[1] <= logics:
            yield file.base_offset


def greatest_end(store: facts.Store) -> int:
    """The greatest end of a queue's last record after the queues' recovery, -1 without units."""
    queues = log.queue_starts(store.queues, 1 << 62, WorkDone(None), has_log=True)
    return max((queue.max_phy_offset for queue in queues), default=-1)


def dispatch_start(release: Profile, walk_from: int, end: int, greatest: int) -> int:
    """Physical offset from which a start of 5.x dispatches after a clean exit."""
    if release.start.get("dispatches") == "nothing":
        return end
    return min(max(walk_from, greatest + 1), end)


_REFUSED: Final = ("log.gap", "queue.size")  # findings on files that are none of a store's


@dataclass(frozen=True, slots=True)
class Restart:
    """What a start would do.

    Attributes:
        clean: whether the store has no abort file: then only records after those in the queues are dispatched.
        refused: why the release would refuse to start on these files, or None.
        walk_from: physical offset from which a start walks the log.
        log_end: physical offset at which its walk ends, and so the log.
        dispatch_from: physical offset from which records are dispatched (again).
        deletions: files that are deleted or truncated.
        lost_units: units that no queue would contain any more, and messages that get none.
        lost: keys that no index file would contain any more.
        unread: bytes of the log after the end of the walk, up to the last record: their messages are lost.
        missing: bytes of the log that no file holds, before its last file: their messages were lost before the start.
        zeros: names of queue files without units whose first bytes become one: every pull at that offset fails.
        unlisted: topics with queues of which every pull fails: the number of queues to read of each in the list of topics, 0 of one
            that is not listed.
        beyond: physical offset after the log's end from which the dispatch goes on: messages that are sent after the start get no
            unit and are not indexed until the log is longer; None if there is none.
        made: topics that are not in the list of topics, and of which no queue has a message yet: the number of queues that the start makes
            of each.
        forgotten: what the start forgets since a file of `config/` and its `.bak` are missing, in words.
        blocked: what the broker does not do since something else is in the place of a folder, or a log file is there twice, in words.
        damaged: codes of the errors and warnings of an audit on files that are damaged already and stay so.
        undelivered: the number of messages that the log has, and that consumers do not get for that.
    """

    clean: bool
    refused: str | None
    walk_from: int
    log_end: int
    dispatch_from: int
    deletions: tuple[Deletion, ...]
    lost_units: tuple[log.LostUnits, ...]
    lost: LostKeys
    unread: int = 0
    missing: int = 0
    zeros: tuple[str, ...] = ()
    unlisted: Mapping[str, int] = field(default_factory=dict[str, int])
    beyond: int | None = None
    made: Mapping[str, int] = field(default_factory=dict[str, int])
    forgotten: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    undelivered: int = 0

    @property
    def safe(self) -> bool:
        """Whether a broker starts on these files, loses nothing, gives out each queue, and nothing of log, queues and index is damaged."""
        broken = self.refused or self.zeros or self.unlisted or self.missing or self.beyond or self.blocked
        return not (broken or self.lost_units or len(self.lost) or self.unread or self.damaged)


def restart(store: facts.Store | Path | str, *, index_safe: bool = False, **known: Any) -> Restart:
    """What a start would do to a store's files; nothing is written.

    Args:
        store: the store, or its directory.
        index_safe: as with the broker's setting messageIndexSafe.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: no store, a geometry that does not fit or cannot be inferred, or what is not predicted of a release.
        OSError: the store cannot be read.
    """
    return _predicted_of(facts.as_store(store, **known))[index_safe]


def predict(store: facts.Store) -> Restart:
    """What a start would do to the files of a store, which need not be as they are on the disk; as `restart`, but for lost keys."""
    return _predicted(store, WorkDone(None), profile(GROUND), index_safe=False, keys=False)


def restarts(
    store: facts.Store | Path | str, *, on_progress: Callable[[int, int], None] | None = None, **known: Any
) -> tuple[Restart, Restart]:
    """What `restart` predicts without messageIndexSafe and with it; arguments and errors as there.

    `on_progress` is called with the bytes that were read, and those known to be in all.
    """
    store, work = facts.as_store(store, **known), WorkDone(on_progress)
    found, *others = [_both(store, work, one) for one in candidates(store.signs, store.release)]
    if any(list(rows_of(*other)) != list(rows_of(*found)) for other in others):
        raise UsageError(
            f"{store.path}: releases of 5.x start in different ways on these files; name one with --rocketmq-profile"
        )
    return found


def _both(store: facts.Store, work: WorkDone, release: Profile) -> tuple[Restart, Restart]:
    """The start of one release without messageIndexSafe and with it."""
    refuse_unpredicted(store, release)
    usual = _predicted(store, work, release, index_safe=False)
    start = walk_start(store, release, clean=store.clean, index_safe=True)
    safe = usual if start == usual.walk_from else _predicted(store, work, release, index_safe=True)
    return usual, safe


def predicted(
    store: facts.Store, *, on_progress: Callable[[int, int], None] | None = None
) -> tuple[Restart, Restart] | str:
    """As `restarts`; why nothing is predicted if a broker runs on the store."""
    if store.live:
        if store.path is not None and not store.holder:
            return f"{store.path / 'abort'} exists, and this system does not report locks"
        assert store.path is not None
        lock = store.path / "lock"
        return (
            f"process {store.holder} holds the lock of {lock}"
            if (store.holder or 0) > 0
            else f"{lock} is locked"
        )
    return store.looked_at(lambda: _predicted_of(store, on_progress), despite_unreadable=False)


def _predicted_of(
    store: facts.Store, on_progress: Callable[[int, int], None] | None = None
) -> tuple[Restart, Restart]:
    """What `restarts` predicts, and what is damaged already."""
    usual, safe = restarts(store, on_progress=on_progress)
    return _with_damage(store, usual), _with_damage(store, safe)


_PASSING: Final = ("log.torn", "queue.empty", "index.empty")
"""Codes of what a start cuts off, or what harms nobody before the broker fills it or states as `zeros`."""


def _faults(store: facts.Store) -> list[audit.Finding]:
    """The errors and warnings of an audit on log, queues and index, and on topics without a queue or a list."""
    found = (one for one in audit.audit(store) if one.severity != "note" and one.code not in _PASSING)
    return [one for one in found if one.part in ("log", "queue", "index") or one.code == "topic.missing"]


def _with_damage(store: facts.Store, plan: Restart) -> Restart:
    if plan.refused is not None or not store.logs or store.has_no_log:
        return plan
    gone = {one.file for one in plan.deletions if one.action == "delete"}
    found = [one for one in store.once(_faults) if one.file not in gone and one.part]
    unlisted = {one.file.split("/")[1]: 0 for one in store.once(_faults) if not one.part}
    count = 0
    if any(one.part == "queue" for one in found):
        queues = log.queue_starts(store.queues, plan.log_end, WorkDone(None), has_log=True)
        count = undelivered(store, found, queues, plan.dispatch_from)
    codes = tuple(sorted({one.code for one in found}))
    return replace(plan, unlisted={**plan.unlisted, **unlisted}, damaged=codes, undelivered=count)


def rows_of(usual: Restart, safe: Restart) -> Iterator[dict[str, Any]]:
    """What a start would do, as objects of JSON: deletions, lost units and keys, and a summary.

    `usual` is for the broker's setting of messageIndexSafe, `safe` for true.
    """
    yield from map(asdict, usual.deletions)
    for unit in usual.lost_units:
        yield {"lost_units": asdict(unit)}
    for key in usual.lost:
        yield {"lost_key": key._asdict()}
    yield {
        "safe": usual.safe,
        "clean": usual.clean,
        "refused": usual.refused,
        "walk_from": usual.walk_from,
        "log_end": usual.log_end,
        "dispatch_from": usual.dispatch_from,
        "lost_units": sum(unit.count for unit in usual.lost_units),
        "lost_keys": len(usual.lost),
        "missing": usual.missing,
        "zeros": usual.zeros,
        "unlisted": list(usual.unlisted),
        "beyond": usual.beyond,
        "forgotten": usual.forgotten,
        "blocked": usual.blocked,
        "damaged": usual.damaged,
        "undelivered": usual.undelivered,
        "index_safe": {"dispatch_from": safe.dispatch_from, "lost_keys": len(safe.lost)},
    }


def _predicted(
    store: facts.Store, work: WorkDone, release: Profile, *, index_safe: bool, keys: bool = True
) -> Restart:
    """The start on the files of a plan; one that is not a broker's file prevents it (`MappedFileQueue.doLoad`)."""
    strays = _strays(store)
    found = _loaded(store, work, release, index_safe=index_safe, keys=keys)
    if strays:
        return replace(found, refused=strays[-1])
    other = store.refusal
    refused = found.refused or store.config_refusal or (other and f"{other.file}: {other.reason}")
    forgotten = (
        f"the {table.replace('_', ' ')} are missing: {facts.FORGOTTEN[table]}" for table in store.forgotten
    )
    unlisted = {topic: store.read_queues.get(topic, 0) for topic in (*store.unlisted, *found.made)}
    blocked = (
        *(f"{name} is not a folder: {facts.BLOCKED[name]}" for name in store.blocked),
        *(f"{one.file}: {one.message}" for one in store.once(audit.planned) if one.remedy == "twice"),
        *(
            f"{count:,} messages wait on delay level {level}, which messageDelayLevel lacks: the broker does not deliver them"
            for level, count in store.undelivered.items()
        ),
        *(("there is no commit log, and the index leads into one",) if _reads_nothing(store) else ()),
        *(
            ("queries by key miss messages: maxHashSlotNum and maxIndexNum are not those of the index files",)
            if store.misread_index
            else ()
        ),
    )
    return replace(found, refused=refused, unlisted=unlisted, forgotten=tuple(forgotten), blocked=blocked)


def _reads_nothing(store: facts.Store) -> bool:
    """Whether index files are all that is left of the messages."""
    return not (store.logs or store.queues) and any(header.index_count > 1 for _, header in store.indexes)


def _strays(store: facts.Store) -> list[str]:
    """The files that are none of a broker's, with which it does not start."""
    return [
        f"{found.file}: {found.message}"
        for found in store.once(audit.planned)
        if found.code in _REFUSED and found.severity != "note" and found.file not in store.blocked
    ]


def _loaded(store: facts.Store, work: WorkDone, release: Profile, *, index_safe: bool, keys: bool) -> Restart:
    clean = store.clean
    framed = [file for file in store.logs if file.framed]
    refused = refusal(store) or ext_refusal(store)
    if framed:
        walk_from, end, unfit = entry_log(framed, max(store.log_sizes))
        refused = refused or unfit
    else:
        walk_from = walk_start(store, release, clean=clean, index_safe=index_safe)
        end = store.end if refused else walked_end(store, walk_from, work)
    if refused is not None:
        return Restart(clean, refused, walk_from, store.end, walk_from, (), (), LostKeys.none())
    if store.has_no_log:
        return _without_log(store, work)
    queues = log.queue_starts(store.queues, end, work, has_log=bool(store.logs))
    indexes = deleted_indexes(store.indexes, store.checkpoint_times[2], clean=clean)
    behind = max([store.begin, *(queue.max_phy_offset for queue in queues)])
    dispatch_from = behind if clean or framed else walk_from
    later = bool(release.start)
    if later and clean and not framed:
        dispatch_from = dispatch_start(release, walk_from, end, greatest_end(store))
    again = Redispatched(None, ())
    if not framed:
        begin = dispatch_from if later else behind
        again = dispatched_again(store, queues, begin, end, recovered_from=None if clean else walk_from)
    begin = min(store.indexed_from(dispatch_from), max(dispatch_from, end))
    passed = [(-1, begin), *again.stated]
    deleted = [one.file for one in indexes]
    lost = _lost(store, deleted, passed, end, work) if keys else LostKeys.none()
    lost = lost.with_records(_astray(store, deleted, again)) if keys and again.astray else lost
    refused = None if release.rules.get("checks_room") else too_long_record(store, end)
    if refused is not None:  # the index was loaded before that
        return Restart(clean, refused, walk_from, end, dispatch_from, (*indexes,), (), lost)
    deletions = (*indexes, *deleted_logs(store, end), *_of_queues(queues), *deleted_exts(store, queues))
    units = tuple(unit for queue in queues for unit in queue.lost(dispatch_from, end))
    beyond = max(dispatch_from, again.end)
    from_there = beyond if beyond > end else behind
    refused = None if later else passed_gap(store, from_there, end, clean=clean) or again.stuck
    units += again.lost
    if any(queue.endless for queue in queues):
        refused = "consume-queue files of one unit: truncating them never ends"
    unread = 0 if framed else max(store.end - end, 0)
    missing = sum(max(begin - end, 0) for end, begin in store.log_breaks)
    zeros = tuple(queue.zeros for queue in queues if queue.zeros is not None)
    return Restart(
        clean,
        refused,
        walk_from,
        end,
        dispatch_from,
        deletions,
        units,
        lost,
        unread,
        missing,
        zeros,
        beyond=beyond if beyond > end else None,
        made=_made(store, again.topics),
    )


def _lost(
    store: facts.Store, deleted: Collection[str], passed: Sequence[tuple[int, int]], end: int, work: WorkDone
) -> LostKeys:
    """The keys that a start loses with some index files; a broker that indexes nothing loses no others."""
    if store.index_enabled:
        return lost_keys(store, {*deleted}, passed, work)
    if not deleted:
        return LostKeys.none()
    missing = lost_keys(store, set(), [(-1, end)], work)
    return lost_keys(store, {*deleted}, [(-1, end)], work).without(missing)


def _astray(store: facts.Store, deleted: Collection[str], again: Redispatched) -> dict[int, list[int]]:
    """The keys of records that state another offset than their position, but for those that index files have which a start leaves."""
    kept = [file for file in store.opened_indexes if file.name not in deleted]
    held = hashes_at(kept, store.geometry, [*again.astray]) if store.geometry is not None else {}
    return (
        {at: [one for one in every if one not in held.get(at, ())] for at, every in again.astray.items()}
        if store.index_enabled
        else {}
    )


def _made(store: facts.Store, topics: Mapping[str, int]) -> dict[str, int]:
    """The topics among those of records that no queue had which are neither listed nor have a queue.

    If a listed topic is among them, queues and list are older than the log; else topics were deleted.
    """
    listed = store.listed_topics or frozenset()
    if listed.isdisjoint(topics):
        return {}
    known = listed | store.has_queue
    return {
        topic: number
        for topic, number in topics.items()
        if topic not in known and not topic.startswith(facts.NOT_LISTED)
    }


def _without_log(store: facts.Store, work: WorkDone) -> Restart:
    """A start that does not read the log: it deletes all queues (STORE-10)."""
    queues = log.queue_starts(store.queues, 0, work, has_log=False)
    units = tuple(unit for queue in queues for unit in queue.lost(0, 0))
    indexes = deleted_indexes(store.indexes, store.checkpoint_times[2], clean=store.clean)
    unread = store.end - store.begin
    return Restart(
        store.clean, None, 0, 0, 0, (*indexes, *_of_queues(queues)), units, LostKeys.none(), unread
    )


def refused_by_log(store: facts.Store) -> str | None:
    """Why the walk over the log or the dispatch ends a start, though all files can be loaded; None if neither does. Errors as of `restart`."""
    if _strays(store) or refusal(store) or store.config_refusal:
        return None
    return restarts(store)[store.conf is not None and store.conf.index_safe].refused


def _of_queues(queues: Iterable[log.QueueStart]) -> Iterator[Deletion]:
    for queue in queues:
        for end, reason in queue.cuts[-1:]:
            last = queue.files[-1] if queue.files else None
            if last is not None and log.holds_bytes(
                last, end - last.base_offset
            ):  # else only files are deleted
                yield Deletion("truncate", last.name, end - last.base_offset, reason)
        for file, reason in sorted(queue.deleted, key=lambda pair: pair[0].base_offset):
            yield Deletion("delete", file.name, None, reason)
