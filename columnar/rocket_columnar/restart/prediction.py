"""Predicts what a start of a broker on a store would delete, from where it would dispatch again, and what is lost for good."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.profiles import GROUND, Profile, profile

from rocket_columnar.audit import planned
from rocket_columnar.facts import Store, as_store
from rocket_columnar.restart.dispatch_again import dispatched_again
from rocket_columnar.restart.dledger import entry_log
from rocket_columnar.restart.ext_files import deleted_exts, ext_refusal
from rocket_columnar.restart.later_start import (
    candidates,
    dispatch_start,
    greatest_end,
    refuse_unpredicted,
    walk_start,
)
from rocket_columnar.restart.lost_keys import LostKeys, lost_keys
from rocket_columnar.restart.queues import LostUnits, QueueStart, queue_starts
from rocket_columnar.restart.recovery import (
    Deletion,
    deleted_indexes,
    deleted_logs,
    missing_bytes,
    passed_gap,
    refusal,
    too_long_record,
    walked_end,
)
from rocket_columnar.store import WorkDone, size_of

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
    """

    clean: bool
    refused: str | None
    walk_from: int
    log_end: int
    dispatch_from: int
    deletions: tuple[Deletion, ...]
    lost_units: tuple[LostUnits, ...]
    lost: LostKeys
    unread: int = 0
    missing: int = 0

    @property
    def safe(self) -> bool:
        """Whether a broker starts on these files, loses nothing, and no file of the log is missing."""
        return not (self.refused or self.lost_units or len(self.lost) or self.unread or self.missing)


def restart(store: Store | Path | str, *, index_safe: bool = False, **known: Any) -> Restart:
    """What a start would do to a store's files; nothing is written.

    Args:
        store: the store, or its directory.
        index_safe: as with the broker's setting messageIndexSafe.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: no store, a geometry that does not fit or cannot be inferred, or what is not predicted of a release.
        OSError: the store cannot be read.
    """
    usual, safe = restarts(store, **known)
    return safe if index_safe else usual


def predict(store: Store, *, index_safe: bool = False) -> Restart:
    """What a start would do to the files of a store, which need not be as they are on the disk; as `restart`."""
    return _predicted(store, WorkDone(None), profile(GROUND), index_safe=index_safe)


def restarts(
    store: Store | Path | str, *, on_progress: Callable[[int, int], None] | None = None, **known: Any
) -> tuple[Restart, Restart]:
    """What `restart` predicts without messageIndexSafe and with it; errors as there.

    Args:
        store: the store, or its directory.
        on_progress: called with the bytes that were read, and those known to be in all.
        known: of a directory, as for `Store`.
    """
    store, work = as_store(store, **known), WorkDone(on_progress)
    found, *others = [_both(store, work, one) for one in candidates(store.signs, store.release)]
    if any(list(rows_of(*other)) != list(rows_of(*found)) for other in others):
        raise UsageError(
            f"{store.path}: releases of 5.x start in different ways on these files; name one with --rocketmq-profile"
        )
    return found


def _both(store: Store, work: WorkDone, release: Profile) -> tuple[Restart, Restart]:
    """The start of one release without messageIndexSafe and with it."""
    refuse_unpredicted(store, release)
    usual = _predicted(store, work, release, index_safe=False)
    start = walk_start(store, release, clean=store.clean, index_safe=True)
    safe = usual if start == usual.walk_from else _predicted(store, work, release, index_safe=True)
    return usual, safe


def predicted(
    store: Store, *, on_progress: Callable[[int, int], None] | None = None
) -> tuple[Restart, Restart] | str:
    """As `restarts`; why nothing is predicted if a broker runs on the store."""
    if store.live:
        if store.path is not None and not store.holder:
            return f"{store.path / 'abort'} exists, and this system does not report locks"
        assert store.path is not None  # noqa: S101 - it has a lock
        lock = store.path / "lock"
        return (
            f"process {store.holder} holds the lock of {lock}"
            if (store.holder or 0) > 0
            else f"{lock} is locked"
        )
    return store.looked_at(lambda: restarts(store, on_progress=on_progress), despite_unreadable=False)


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
        "index_safe": {"dispatch_from": safe.dispatch_from, "lost_keys": len(safe.lost)},
    }


def _predicted(store: Store, work: WorkDone, release: Profile, *, index_safe: bool) -> Restart:
    """The start on the files of a plan; one that is not a broker's file prevents it (`MappedFileQueue.doLoad`)."""
    stray = [found for found in store.once(planned) if found.code in _REFUSED and found.severity != "note"]
    found = _loaded(store, work, release, index_safe=index_safe)
    if stray:
        return replace(found, refused=f"{stray[-1].file}: {stray[-1].message}")
    other = store.refusal
    refused = found.refused or store.config_refusal or (other and f"{other.file}: {other.reason}")
    return replace(found, refused=refused)


def _loaded(store: Store, work: WorkDone, release: Profile, *, index_safe: bool) -> Restart:
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
    queues = queue_starts(store.queues, end, work, has_log=bool(store.logs))
    indexes = deleted_indexes(store.indexes, store.checkpoint_times[2], clean=clean)
    behind = max([store.begin, *(queue.max_phy_offset for queue in queues)])
    dispatch_from = behind if clean or framed else walk_from
    later = bool(release.start)
    if later and clean and not framed:
        dispatch_from = dispatch_start(release, walk_from, end, greatest_end(store))
    lost = LostKeys.none()
    if store.conf is None or store.conf.index_enabled:
        lost = lost_keys(store, {deletion.file for deletion in indexes}, dispatch_from, work)
    refused = None if release.rules.get("checks_room") else too_long_record(store, end)
    if refused is not None:  # the index was loaded before that
        return Restart(clean, refused, walk_from, end, dispatch_from, (*indexes,), (), lost)
    deletions = (*indexes, *deleted_logs(store, end), *_of_queues(queues), *deleted_exts(store, queues))
    units = tuple(unit for queue in queues for unit in queue.lost(dispatch_from, end))
    refused = None if later else passed_gap(store, behind, end, clean=clean)
    if not framed:
        begin = dispatch_from if later else behind
        again = dispatched_again(store, queues, begin, end, recovered_from=None if clean else walk_from)
        refused, units = refused or (None if later else again.stuck), units + again.lost
    if any(queue.endless for queue in queues):
        refused = "consume-queue files of one unit: truncating them never ends"
    unread = 0 if framed else max(store.end - end, 0)
    missing = missing_bytes(store)
    return Restart(clean, refused, walk_from, end, dispatch_from, deletions, units, lost, unread, missing)


def _of_queues(queues: Iterable[QueueStart]) -> Iterator[Deletion]:
    for queue in queues:
        for end, reason in queue.cuts[-1:]:
            last = queue.files[-1] if queue.files else None
            if last is not None and end < last.base_offset + (size_of(last) or 0):
                yield Deletion("truncate", last.name, end - last.base_offset, reason)
        for file, reason in sorted(queue.deleted, key=lambda pair: pair[0].base_offset):
            yield Deletion("delete", file.name, None, reason)
