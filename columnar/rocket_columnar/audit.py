"""Index files, consume queues, commit log and checkpoint of a store, held against each other.

Nothing is written. The log is read first, up to the end that it has then; what a broker appends meanwhile is
no finding.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import numpy as np
from rocket_spec.errors import MalformedError, UsageError

from rocket_columnar._audit_checkpoint import check_checkpoint
from rocket_columnar._audit_deep import check_selects
from rocket_columnar._audit_ext import ExtUnits
from rocket_columnar._audit_files import check_index_files, check_queue_files, empty_file
from rocket_columnar._audit_finding import CODES, Finding, Severity, finding
from rocket_columnar._audit_index import check_content, check_targets
from rocket_columnar._audit_index_read import read_headers, read_index
from rocket_columnar._audit_keys import Keys
from rocket_columnar._audit_late import last_frame, late_frames
from rocket_columnar._audit_lmq import Copies
from rocket_columnar._audit_log import Frames, check_log_files, read_frames
from rocket_columnar._audit_names import is_safe
from rocket_columnar._audit_queue import Queue, check_missing, check_units
from rocket_columnar._audit_tail import log_end
from rocket_columnar.geometry import resolve
from rocket_columnar.store import KINDS, find_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rocket_spec.layout import Geometry

    from rocket_columnar.store import StoreFile

__all__ = ["CODES", "LEVELS", "Finding", "Level", "Severity", "audit"]

Level = Literal["quick", "default", "deep"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

_MOST: Final = 1000
"""Findings of one code in one file that are listed one by one."""


class _Report:
    """Gathers findings; of one code in one file the first thousand, then their number."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._ready: list[Finding] = []
        self._severities: dict[tuple[str, str], Severity] = {}

    def __call__(self, found: Finding) -> None:
        key = found.code, found.file
        self._counts[key] += 1
        if self._counts[key] <= _MOST:
            self._ready.append(found)
            self._severities[key] = found.severity

    def take(self) -> list[Finding]:
        """What has come since the last time."""
        ready, self._ready = self._ready, []
        return ready

    def rest(self) -> Iterator[Finding]:
        """One finding for each code and file of which there were more."""
        for (code, file), count in self._counts.items():
            if count > _MOST:
                text = f"{count - _MOST:,} more findings of this kind in this file"
                yield finding(code, file, None, text, severity=self._severities[code, file])


def audit(
    store: Path | str, level: Level = "default", *, geometry: Geometry | None = None
) -> Iterator[Finding]:
    """What is wrong with a store, file by file: nothing for a healthy one.

    Args:
        store: the directory of a store.
        level: "quick" looks at names, sizes, headers, checkpoint and continuity; "default" holds every unit and
            entry against the log's records, and the records against them; "deep" also checks the bodies'
            checksums and asks every key of every index file by 4.9.3's own select.
        geometry: of the index files; else it is inferred.

    Raises:
        UsageError: an unknown level, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    if level not in LEVELS:
        raise UsageError(f"unknown level {level!r}; there are {', '.join(LEVELS)}")
    store = Path(store)
    files = _files(store)
    return _audit(store, files, level, geometry)


def _files(store: Path) -> list[StoreFile]:
    if not store.is_dir():
        store.stat()  # the system's own reason
        raise UsageError(f"{store}: a file; audit takes the directory of a store")
    if not any((store / part).exists() for part in ("commitlog", "consumequeue", "index", "checkpoint")):
        raise UsageError(f"{store}: holds no store: no commitlog, consumequeue, index or checkpoint")
    return find_files(store)


def _audit(
    store: Path, files: Sequence[StoreFile], level: Level, geometry: Geometry | None
) -> Iterator[Finding]:
    report = _Report()
    live = (store / "abort").exists()
    if live:
        text = "found an abort file: a broker runs here, or ended without a clean stop"
        report(finding("store.abort", "abort", None, text))
    of = {kind: [file for file in files if file.kind == kind] for kind in KINDS}
    headers = read_headers(of["index"])  # before the log: what they tell of is in it by then
    frames = None
    if level == "quick":
        check_log_files(of["log"], [file.path.stat().st_size for file in of["log"]], report)
        end, newest = log_end(of["log"])
    else:
        frames = read_frames(of["log"], report, live=live, deep=level == "deep")
        end, newest = frames.end, frames.newest
    yield from report.take()
    check_queue_files(of["queue"], report)
    whole = check_index_files(headers, end if of["log"] else None, report, quick=frames is None)
    for file in of["checkpoint"]:
        check_checkpoint(file, newest, [pair for pair in headers if pair[0] in whole][:-2], report)
    yield from report.take()
    shape = _geometry(whole, geometry, report)
    if frames is not None:
        queues = _queues(of["queue"])
        yield from _cross_check(
            _Parts(frames, files, queues, whole, shape), report, live=live, deep=level == "deep"
        )
    yield from report.take()
    yield from report.rest()


class _Parts(NamedTuple):
    """What is held against each other."""

    frames: Frames
    files: Sequence[StoreFile]
    queues: Sequence[Queue]
    indexes: Sequence[StoreFile]
    geometry: Geometry | None


def _queues(files: Sequence[StoreFile]) -> list[Queue]:
    groups: dict[tuple[str, int], list[StoreFile]] = {}
    for file in files:
        if file.topic is not None and file.queue_id is not None:
            groups.setdefault((file.topic, file.queue_id), []).append(file)
    return [Queue(topic, number, group, []) for (topic, number), group in groups.items()]


def _geometry(
    files: Sequence[StoreFile], given: Geometry | None, report: Callable[[Finding], None]
) -> Geometry | None:
    """The geometry of the index files, or None where it cannot be told; then their content is not checked."""
    if not files:
        return None
    try:
        return resolve(files, given).geometry
    except MalformedError as error:
        for file in files:  # one damaged header keeps the others from being looked at
            try:
                return resolve([file], given).geometry
            except (MalformedError, UsageError):
                continue
        code = "index.size" if error.offset is None else "index.header_count"
        text = f"found {error.found}, expected {error.expected}; its content cannot be checked"
        report(finding(code, files[0].name, error.offset, text))
        return None
    except UsageError as error:
        if given is not None:
            raise
        if any(header.index_count > 1 for _, header in read_headers(files)):
            text = str(error).removeprefix(f"{files[0].path}: ")
            report(finding("index.geometry", files[0].name, None, text))
        return None


def _cross_check(parts: _Parts, report: _Report, *, live: bool, deep: bool) -> Iterator[Finding]:
    """Units and entries against records, then records against both."""
    frames = parts.frames
    for number, name in enumerate(frames.topics.names):
        if not is_safe(name):
            file, offset = frames.at(int(np.argmax(frames.all.topic == number)))
            text = f"the topic {name!r} of this record cannot be the name of a directory"
            report(finding("store.unsafe_name", file, offset, text))
    extra = Copies(parts.files), ExtUnits(parts.files)
    queued = np.zeros(frames.all.phy_offset.size, np.bool_)
    for queue in parts.queues:
        queued[check_units(queue, frames, extra, report)] = True
        yield from report.take()
    keys = Keys(frames)
    for found in _check_indexes(parts, keys, report, live=live, deep=deep):
        yield from found
    keys.wrong(report)
    indexed = keys.indexed()
    late = late_frames(frames, queued | indexed, report)
    check_missing(parts.queues, frames, frames.queued() & ~queued & ~late, report)
    yield from report.take()
    if parts.geometry is not None or all(
        header.index_count <= 1 for _, header in read_headers(parts.indexes)
    ):
        late |= live & last_frame(queued) & ~indexed
        keys.missing(~late, report)


def _check_indexes(
    parts: _Parts, keys: Keys, report: _Report, *, live: bool, deep: bool
) -> Iterator[list[Finding]]:
    """File by file; without a geometry no more than whether a file is empty."""
    for number, file in enumerate(parts.indexes):
        last = number == len(parts.indexes) - 1
        if parts.geometry is None:
            if all(header.index_count <= 1 for _, header in read_headers([file])):
                report(empty_file(file, last=last))
            continue
        try:
            content = read_index(file, parts.geometry)
        except FileNotFoundError:  # expired meanwhile
            continue
        sound = check_content(content, report, live=live and last, last=last)
        entries, places = check_targets(content, parts.frames, report)
        keys.see(content, entries, places, report)
        if deep and sound:
            check_selects(content, report)
        yield report.take()
