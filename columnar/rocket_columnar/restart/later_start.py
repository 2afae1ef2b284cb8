"""What a start of 5.x does differently from one of 4.9.3, as the `start` of a release's profile names it.

Read beside `CommitLog.recoverNormally` 345-430 and `recoverAbnormally` 745-890 of 5.5.0, `recoverNormally` 325-415 of 5.3.3.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from rocket_spec.errors import UsageError
from rocket_spec.profiles import GROUND, Profile, profile, releases

from rocket_columnar.facts import Store, first_record, recovery_start
from rocket_columnar.restart.queues import queue_starts
from rocket_columnar.store import Sign, StoreFile, WorkDone, read_at, size_of

_NOT_FOLLOWED: Final = {
    "batch": "queues of batch messages",
    "rocksdb": "queues in RocksDB",
    "index": "the index in RocksDB",
}
"""Kinds of signs of what a start changes and is not predicted."""


def candidates(signs: Sequence[Sign], version: str | None) -> tuple[Profile, ...]:
    """The profiles of the releases that may start on a store with these signs, the newest of each kind of start.

    It is one if a release is named or the bytes show it.
    """
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


def refuse_unpredicted(store: Store, release: Profile) -> None:
    """Names what of a start is not predicted.

    Raises:
        UsageError: the store has such a part.
    """
    found = [_NOT_FOLLOWED[sign.kind] for sign in store.signs if sign.kind in _NOT_FOLLOWED]
    if release.rules.get("deletes_empty_last_file") and any(
        not size_of(file) for file in (*store.logs, *store.queues)
    ):
        found.append(f"a file of length 0, which {release.version} deletes if it is the last one")
    if found:
        raise UsageError(f"{store.path}: the start is not predicted with {', '.join(dict.fromkeys(found))}")


def walk_start(store: Store, release: Profile, *, clean: bool, index_safe: bool) -> int:
    """Physical offset from which a start of a release walks the log."""
    times = store.checkpoint_times
    most = release.start.get("most_files", 0)
    logs = store.logs[-most:]
    if clean and release.start.get("dispatches") == "after_queues":
        greatest = greatest_end(store)
        for file in reversed(logs):
            head = first_record(file)
            begin = (head[0] if head else None) if most else file.base_offset
            if begin is not None and begin <= greatest:
                return file.base_offset
        return logs[0].base_offset if logs else 0
    if clean or release.start.get("recovers_from") != "queue_offset":
        return recovery_start(logs if not clean else store.logs, times, clean=clean, index_safe=index_safe)
    return next(_matched(logs, store, index_safe=index_safe), logs[0].base_offset if logs else 0)


def _matched(logs: Sequence[StoreFile], store: Store, *, index_safe: bool) -> Iterator[int]:
    """The files from which 5.5.0 may recover, the newest first."""
    _, logics, index = store.checkpoint_times
    raw = read_at(store.checkpoints[0], 40, 8) if store.checkpoints else b""
    offset = int.from_bytes(raw, signed=True)
    for file in reversed(logs):
        head = first_record(file)
        if head is None or (index_safe and head[1] > index):
            continue
        if head[0] <= offset if offset > 0 else head[1] <= logics:
            yield file.base_offset


def greatest_end(store: Store) -> int:
    """The greatest end of a queue's last record after the queues' recovery, -1 without units."""
    queues = queue_starts(store.queues, 1 << 62, WorkDone(None), has_log=True)
    return max((queue.max_phy_offset for queue in queues), default=-1)


def dispatch_start(release: Profile, walk_from: int, end: int, greatest: int) -> int:
    """Physical offset from which a start of 5.x dispatches after a clean exit."""
    if release.start.get("dispatches") == "nothing":
        return end
    return min(max(walk_from, greatest + 1), end)
