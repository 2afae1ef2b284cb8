"""The output of a rebuild: a staging directory, renamed when everything is complete, and a manifest, renamed last.

What an earlier rebuild wrote stays in place until the new files are complete. Then it moves into the staging directory,
and the new files take its place. If that is interrupted, even by a kill, the next rebuild into the directory moves the
earlier files back.
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from rocket_spec.outputs import output_folder

from rocket_columnar.index import IndexBuilder, IndexHeader, read_headers
from rocket_columnar.rebuild.dispatched_columns import KEYS, RECORDS, Dispatched, KeyRange
from rocket_columnar.rebuild.plan import IndexPlan, record_after
from rocket_columnar.store import StoreFile, protected_directories

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows has no locks on directories: nothing is swept there
    fcntl = None


FOLDERS: Final = ("index", "consumequeue", "consumequeue_ext")  # the directories that a rebuild writes

MANIFEST: Final = "_manifest.json"
"""Written last: path and bytes of each file. A directory without it is not whole."""

_PREFIX: Final = ".rebuild-"

_STATE: Final = "rocketspec-rebuild.json"
"""In a staging directory: device and inode of each directory that is being put in place."""

_EARLIER: Final = "earlier"  # in a staging directory: what an earlier rebuild wrote

_OF_A_STORE: Final = ("commitlog", "checkpoint", "abort")  # names that show a store

_BESIDE: Final = ("lock", "config")
"""Names that show a store only beside index files or queues, because other programs use them too."""


def prepare(stores: Sequence[Path], directory: Path, *, force: bool) -> None:
    """Refuses a directory that a rebuild must not write to; settles an earlier rebuild into it that was killed.

    UsageError, with nothing changed, if it is, contains, or is inside a store; and if it contains anything but, with `force`, the output of an
    earlier rebuild.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: a file; -o must be a directory")
    for store in stores:
        _refuse_own(store, directory)
    _refuse_other_stores(directory)
    _sweep(directory)
    present = [name for name in (*FOLDERS, MANIFEST) if (directory / name).exists()]
    if present and not force:
        raise UsageError(f"{directory / present[0]}: already exists")
    if present and MANIFEST not in present:
        raise UsageError(
            f"{directory}: contains {present[0]} but no {MANIFEST}, so it was not written by a rebuild; refusing to "
            "replace it"
        )


def _refuse_own(store: Path, directory: Path) -> None:
    """Refuses a directory that is, contains, or is inside a directory of the store that is read."""
    whole = Path(os.path.realpath(directory))
    for kept in [store.resolve(), *protected_directories(store)]:
        if whole == kept or kept in whole.parents:
            raise UsageError(f"{directory}: inside the store; choose a directory outside any store")
        if whole in kept.parents:
            raise UsageError(f"{directory}: contains the store; choose a directory outside any store")


def _refuse_other_stores(directory: Path) -> None:
    """Refuses a directory that is, contains, or is inside any other store, by the names in it, above, and one below."""
    whole = Path(os.path.realpath(directory))
    beside = any((whole / name).exists() for name in FOLDERS)
    for name in (*_OF_A_STORE, *(_BESIDE if beside else ())):
        if (whole / name).exists():
            raise UsageError(
                f"{directory}: contains {name}, which is part of a store; choose another directory"
            )
    for above in whole.parents:
        if _has_log(above):
            raise UsageError(f"{directory}: inside the store {above}; choose a directory outside any store")
    for inside in [whole, *whole.iterdir()] if whole.exists() else ():
        if inside.name not in FOLDERS and _has_log(inside):
            raise UsageError(
                f"{directory}: contains the store {inside}; choose a directory outside any store"
            )


def _has_log(directory: Path) -> bool:
    """Whether a directory has the commit log of a store."""
    try:
        return (directory / "commitlog").is_dir() or any(directory.glob("dledger-*/data"))
    except PermissionError:
        return False


def _locked(directory: Path) -> int | None:
    """A descriptor that holds the lock of a directory; None if another process holds it, or the directory is gone."""
    if fcntl is None:
        return None
    descriptor = None
    try:
        descriptor = os.open(directory, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), directory.stat()):
            return descriptor
    except OSError:
        pass
    if descriptor is not None:
        os.close(descriptor)
    return None


def _sweep(directory: Path) -> None:
    """Settles the rebuilds that left a staging directory and are no longer running."""
    for stale in directory.glob(f"{_PREFIX}*"):
        if (
            stale.is_symlink()
            or not stale.is_dir()
            or (any(stale.iterdir()) and not (stale / _STATE).is_file())
        ):
            continue  # somebody else's
        lock = _locked(stale)
        if lock is not None:
            try:
                _settle(stale, directory)
            finally:
                os.close(lock)


def _settle(staging: Path, directory: Path) -> None:
    """Ends a rebuild: moves earlier files back unless the new ones are all in place; removes the staging directory."""
    if (staging / MANIFEST).exists():  # it is moved last
        for part, identity in _state(staging).items():
            place = directory / part
            if not (staging / part).exists() and place.exists() and _identity(place) == identity:
                place.rename(staging / part)
        if (staging / _EARLIER).exists():
            for path in (staging / _EARLIER).iterdir():
                path.rename(directory / path.name)
    for path in staging.iterdir():
        if path.name != _STATE:  # it goes last: `_sweep` knows staging directories by it
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(staging)


def _state(staging: Path) -> dict[str, Any]:
    try:
        state = json.loads((staging / _STATE).read_text("utf-8"))
    except ValueError:  # interrupted before anything was moved
        return {}
    return {part: identity for part, identity in state.items() if part in FOLDERS}


def _identity(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_dev, stat.st_ino]


@contextmanager
def staged(directory: Path) -> Iterator[Path]:
    """A temporary directory inside the final one; removed afterwards, and `directory` too if it is empty and new."""
    staging, lock = directory / f"{_PREFIX}{secrets.token_hex(8)}", None
    with output_folder(directory):
        try:
            staging.mkdir(mode=0o700)
            lock = _locked(staging)
            (staging / _STATE).write_text("{}", "utf-8")
            yield staging
        finally:
            try:
                if staging.exists():
                    _settle(staging, directory)
            finally:
                if lock is not None:
                    os.close(lock)


def commit(staging: Path, directory: Path, facts: Mapping[str, Any], *, force: bool) -> tuple[str, ...]:
    """Puts the parts of a staging directory in place, all or none, and the manifest last; returns the files, relative, with `/`, sorted.

    The manifest has `facts` in addition to the files. Earlier parts are replaced with `force`; without, they are a UsageError, as those of
    another rebuild in the meantime. After an OSError `staged` moves everything back.
    """
    present = [name for name in (MANIFEST, *FOLDERS) if (directory / name).exists()]
    if present and not force:
        raise UsageError(f"{directory / present[0]}: already exists")
    parts = [part for part in FOLDERS if (staging / part).exists()]
    written = sorted(path for part in parts for path in (staging / part).rglob("*") if path.is_file())
    names = [path.relative_to(staging).as_posix() for path in written]
    files = [{"path": name, "bytes": path.stat().st_size} for name, path in zip(names, written, strict=True)]
    (staging / MANIFEST).write_text(
        json.dumps({"rocketspec_manifest": 1, **facts, "files": files}, indent=1) + "\n", "utf-8"
    )
    (staging / _STATE).write_text(json.dumps({part: _identity(staging / part) for part in parts}), "utf-8")
    (staging / _EARLIER).mkdir()
    for name in present:
        (directory / name).rename(staging / _EARLIER / name)
    for name in (*parts, MANIFEST):
        (staging / name).rename(directory / name)
    return tuple(names)


# Index files from the columns of the log files, each on its own, and their names.


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FORM: Final = "%Y%m%d%H%M%S"
_QUARTER: Final = 900_000  # ms: time zones are whole quarters of an hour


class LogKeys(NamedTuple):
    """The keys of an index file that one log file has, batch by batch; of the file before, at most the last key."""

    directory: Path
    ranges: list[KeyRange]


def keys_of(plan: IndexPlan, folders: Sequence[Path], dispatched: Sequence[Dispatched]) -> list[LogKeys]:
    """The input of `write_index` for a file: its keys, and the one before them."""
    found: list[LogKeys] = []
    base = 0
    for folder, part in zip(folders, dispatched, strict=True):
        ranges = part.key_ranges(max(plan.begin - 1, 0) - base, plan.end - base)
        if ranges:
            found.append(LogKeys(folder, ranges))
        base += part.keys
    return found


def write_index(plan: IndexPlan, path: Path, keys: Sequence[LogKeys], geometry: Geometry) -> int | None:
    """Writes one index file from the columns of the log files, seeded with the key before its first (IDX-SVC-1 .. IDX-SVC-4).

    The name of the file is any number; `keys` are those that `keys_of` returns. Returns the store timestamp of the record that made the file
    necessary, if it is in the batch of the key before.
    """
    seed = _Seed(0, 0, None)
    every = [(part.directory, some) for part in keys for some in part.ranges]
    if plan.begin:
        directory, some = every[0]
        seed = _seed(directory, some)
        first = some._replace(begin=some.begin + 1)
        every[0] = directory, first
    with IndexBuilder(
        [path], geometry, end_phy_offset=seed.phy_offset, end_timestamp=seed.store_timestamp
    ) as builder:
        builder.begin()
        for directory, some in every:
            if some.begin < some.end:
                columns = _records(directory, some)
                owner = np.repeat(np.arange(some.records), columns[2])[some.begin : some.end]
                hashes = _column(directory, "key_hash", some.key + some.begin, some.end - some.begin)
                builder.put_many(hashes, columns[0][owner], columns[1][owner])
    return seed.cause


class _Seed(NamedTuple):
    """Offset and time of the key before a file, and the time of the record that the next key would belong to."""

    phy_offset: int
    store_timestamp: int
    cause: int | None


def _seed(directory: Path, some: KeyRange) -> _Seed:
    """The seed of the file after the first key of a range."""
    offsets, times, counts = _records(directory, some)
    ends = np.cumsum(counts)
    owner, after = (int(np.searchsorted(ends, key, "right")) for key in (some.begin, some.begin + 1))
    if after > owner:  # the next record comes first, with keys or without
        after = owner + 1
    cause = int(times[after]) if after < times.size else None
    return _Seed(int(offsets[owner]), int(times[owner]), cause)


def _records(directory: Path, some: KeyRange) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Offsets, times and numbers of keys of a batch's records."""
    first, second, third = (_column(directory, name, some.record, some.records) for name in RECORDS)
    return first, second, third


def _column(directory: Path, name: str, first: int, count: int) -> NDArray[Any]:
    dtype = np.dtype({**KEYS, **RECORDS}[name])
    return np.fromfile(directory / name, dtype, count, offset=first * dtype.itemsize)


def name_indexes(
    files: Sequence[StoreFile],
    dispatched: Sequence[Dispatched],
    plans: Sequence[IndexPlan],
    causes: Sequence[int | None],
) -> list[str]:
    """The files' names, from what `write_index` returned.

    A broker names a file by its wall clock when it makes one; here the name is the store time of the record
    that made it necessary, increased by 1 ms if two would be equal, and no later than that of a following file: the
    clock may have been ahead for a while.
    """
    zone = _zone_of(read_headers(file for file in files if file.kind == "index"))
    stored = [
        record_after(dispatched, plan.begin) if cause is None else cause
        for plan, cause in zip(plans, causes, strict=True)
    ]
    clocks = [_clock(time or 0, zone) for time in stored]
    names: list[str] = []
    last = 0
    for clock in list(accumulate(reversed(clocks), min))[::-1]:
        last = max(clock, last + 1)
        names.append(f"{last:017}")
    return names


def _clock(time: int, zone: timedelta) -> int:
    """The digits of a clock that shows a time in ms; 0 for one before the year 1000, which has fewer."""
    try:
        moment = _EPOCH + timedelta(milliseconds=time) + zone
    except OverflowError:
        moment = _EPOCH
    return int(f"{moment:{_FORM}}{moment.microsecond // 1000:03}") if moment.year >= 1000 else 0


def _zone_of(headers: Iterable[tuple[StoreFile, IndexHeader]]) -> timedelta:
    """The offset from UTC of the clock that named the index files, by the first file that shows it; else this machine's."""
    for file, header in headers:
        name = file.path.name
        if header.index_count > 1 and header.begin_timestamp > 0 and len(name) == 17 and name.isdecimal():
            try:
                named = datetime.strptime(name[:14], _FORM).replace(tzinfo=UTC)
            except ValueError:
                continue
            away = (named - _EPOCH) // timedelta(milliseconds=1) - header.begin_timestamp
            quarters = round(away / _QUARTER)
            if abs(away - quarters * _QUARTER) < _QUARTER // 3 and abs(quarters) <= 4 * 14:
                return timedelta(milliseconds=quarters * _QUARTER)
    return datetime.now().astimezone().utcoffset() or timedelta()
