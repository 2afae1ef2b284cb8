"""What a start of a 4.9.3 broker on a store would delete, from where it would dispatch again, and what is lost for good."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rocket_spec.errors import UsageError

from rocket_columnar._audit_index import check_targets
from rocket_columnar._audit_index_read import read_headers, read_index
from rocket_columnar._audit_keys import Keys
from rocket_columnar._audit_log import Frames, read_frames
from rocket_columnar._audit_restart import (
    Deletion,
    deleted_indexes,
    deleted_logs,
    recovery_start,
    times_of,
)
from rocket_columnar.geometry import resolve
from rocket_columnar.store import KINDS, find_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from rocket_spec.layout import Geometry

    from rocket_columnar._audit_finding import Finding
    from rocket_columnar.store import StoreFile

__all__ = ["Deletion", "LostKeys", "Restart", "restart"]


@dataclass(frozen=True, slots=True)
class LostKeys:
    """Keys that no index file would hold any more, of one record.

    Attributes:
        topic: of the record.
        phy_offset: of the record, bytes.
        key_hashes: of the keys, in the order of their puts.
    """

    topic: str
    phy_offset: int
    key_hashes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    """What a start would do.

    Attributes:
        clean: whether the store has no abort file: then nothing is dispatched again.
        dispatch_from: physical offset from which a start walks the log.
        log_end: physical offset at which its walk ends, and so the log.
        deletions: files that are deleted or cut off.
        lost: keys that are lost for good.
    """

    clean: bool
    dispatch_from: int
    log_end: int
    deletions: tuple[Deletion, ...]
    lost: tuple[LostKeys, ...]


def restart(store: Path | str, *, index_safe: bool = False, geometry: Geometry | None = None) -> Restart:
    """What a start would do to a store's files; nothing is written.

    Args:
        store: the directory of a store.
        index_safe: as with the broker's setting messageIndexSafe.
        geometry: of the index files; else it is inferred.

    Raises:
        UsageError: no store, or a geometry that does not fit or cannot be told.
        OSError: the store cannot be read.
    """
    store = Path(store)
    if not store.is_dir():
        store.stat()
        raise UsageError(f"{store}: a file; audit takes the directory of a store")
    files = find_files(store)
    of = {kind: [file for file in files if file.kind == kind] for kind in KINDS}
    clean = not (store / "abort").exists()
    times = times_of(of["checkpoint"])
    begin = recovery_start(of["log"], times, clean=clean, index_safe=index_safe)
    frames = read_frames(of["log"], _nothing, live=not clean, deep=True)
    end = _log_end(frames, begin)
    indexes = deleted_indexes(read_headers(of["index"]), times[2], clean=clean)
    lost = _lost_keys(frames, of["index"], {one.file for one in indexes}, begin, geometry) if indexes else []
    deletions = (*indexes, *deleted_logs(frames, end))
    return Restart(clean, begin, end, deletions, tuple(lost))


def _nothing(_: Finding) -> None:
    """What is damaged is for the audit to tell."""


def _log_end(frames: Frames, begin: int) -> int:
    """Where the walk from `begin` meets the first bytes that are no sound record or blank."""
    every = frames.all
    end = begin
    for file, size in zip(frames.files, frames.sizes, strict=True):
        if file.base_offset + size <= begin:
            continue
        here = (every.phy_offset >= file.base_offset) & (every.phy_offset < file.base_offset + size)
        offsets, sizes, sound = every.phy_offset[here], every.size[here], every.crc_ok[here]
        position = file.base_offset
        for offset, length, good in zip(offsets.tolist(), sizes.tolist(), sound.tolist(), strict=True):
            if offset != position or not good:
                return position
            position += length
        end = position
        if not _rolls(file, position - file.base_offset):
            return position
    return end


def _rolls(file: StoreFile, at: int) -> bool:
    """Whether a blank leads on to the next file."""
    with file.path.open("rb") as opened:
        opened.seek(at + 4)
        return opened.read(4) == bytes.fromhex("cbd43194")


def _lost_keys(
    frames: Frames,
    indexes: Sequence[StoreFile],
    deleted: set[str],
    begin: int,
    geometry: Geometry | None,
) -> list[LostKeys]:
    """Keys that only deleted files hold, of records that are not dispatched again."""
    shape = resolve(indexes, geometry).geometry
    kept, gone = Keys(frames), Keys(frames)
    for file in indexes:
        content = read_index(file, shape)
        keys = gone if file.name in deleted else kept
        keys.see(content, *check_targets(content, frames, _nothing), _nothing)
    lost = gone.held() & ~kept.held() & (frames.all.phy_offset[frames.key_frame] < begin)
    return [_of_record(frames, frame, lost) for frame in np.unique(frames.key_frame[lost]).tolist()]


def _of_record(frames: Frames, frame: int, lost: NDArray[np.bool_]) -> LostKeys:
    first, stop = np.searchsorted(frames.key_frame, [frame, frame + 1])
    hashes = frames.all.key_hash[first:stop][lost[first:stop]]
    topic = frames.topics.names[int(frames.all.topic[frame])]
    return LostKeys(topic, int(frames.all.phy_offset[frame]), tuple(hashes.tolist()))
