"""The files of a store: listed once, with the log's ends, the headers of index files and their geometry."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import ENTRY, PRE_BLANK_SIZE, QUEUE_UNIT, RECORD_MAGICS, Geometry

from rocket_columnar.formats import HEAD_SIZE, UNIT_DTYPE, FixedFields, fixed_fields
from rocket_columnar.index import GeometryGuess, IndexHeader, read_headers, resolve_by_records, resolve_some
from rocket_columnar.log import Tail, goes_to, log_tail, zeros_after
from rocket_columnar.store import (
    KINDS,
    BrokerConf,
    OwnLog,
    StoreFile,
    find_files,
    lock_holder,
    logs_of,
    of_usual_size,
    read_at,
    require_store,
    same_place,
    size_of,
    sized,
    while_listed,
)
from rocket_columnar.store import despite_unreadable as leaving_out

_T = TypeVar("_T")
State = Literal["live", "killed", "stopped"]

_PARTS: Final = ("commitlog", "consumequeue", "index", "checkpoint")
_KINDS: Final = (*KINDS, "batch")
_TRANSACTION: Final = 12
_SAMPLE: Final = 64  # units of a queue's file that are followed to their records
_LONGEST: Final = 1 << 24  # bytes of a record that is read for that
_BYTES_AT_ONCE: Final = QUEUE_UNIT.size << 16
_GIVEN: Final = ("path", "name", "commitlog", "given_geometry", "conf", "release", "user", "hidden")
_OF_INDEXES: Final = ("indexes", "_whole_indexes", "sound_indexes", "opened_indexes")


class Files:
    """A store's directory, what was given of it, and its files.

    Args:
        path: the directory of the store; None if its files are elsewhere (`of_files`).
        commitlog: further directories of its commit log, as for `find_files`.
        geometry: of the index files; by default inferred.
        conf: the broker's configuration, if it is known.
        release: that wrote the store; by default 4.9.3, or 5.x as the files show.
        user: who starts the broker; by default the owner of the directory.

    Raises:
        UsageError: no store; of a fact that is asked for later, a geometry that does not fit.
        OSError: the store, or what a fact is read from, cannot be read.
    """

    def __init__(
        self,
        path: Path | str | None,
        *,
        commitlog: Sequence[Path | str] = (),
        geometry: Geometry | None = None,
        conf: BrokerConf | None = None,
        release: str | None = None,
        user: str | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.name = str(path)
        if self.path is not None:
            require_store(self.path, _PARTS)
        self.commitlog = tuple(commitlog)
        self.given_geometry = geometry
        self.conf = conf
        self.release = release
        self.user = user
        self.hidden = frozenset[str]()
        self._kept: dict[Any, Any] = {}

    @classmethod
    def of_files(
        cls,
        files: Sequence[StoreFile],
        *,
        name: str = "",
        state: State = "stopped",
        geometry: Geometry | None = None,
        skipped: Sequence[tuple[str, str]] = (),
        topics: frozenset[str] | None = None,
    ) -> Self:
        """A store whose files need not be in a directory of this machine; its `name` is for messages, and `state` that of its broker.

        `skipped` are names and reasons of the files that their listing skipped; `topics` are those of `config/topics.json`, if it has such a list.
        """
        store = cls(None, geometry=geometry)
        store.name = name
        known: dict[str, Any] = {
            "state": state,
            "holder": None,
            "listed": tuple(files),
            "skipped": tuple(skipped),
            "listed_topics": topics,
        }
        vars(store).update(known)
        return store

    def look_again(self) -> None:
        """Forgets every fact: files are gone, or cannot be read, and the others are to be looked at without them."""
        if self.path is not None:
            known = {name: getattr(self, name) for name in _GIVEN}
            vars(self).clear()
            vars(self).update(known, _kept={})

    def looked_at(self, work: Callable[[], _T], *, despite_unreadable: bool = True) -> _T:
        """The result of `work`, which asks this store and reads its files.

        It is called again, and every fact looked at again, without files that a broker deletes meanwhile, or if `despite_unreadable` that cannot be read.
        """
        looks = count()

        def look() -> _T:
            if next(looks):
                self.look_again()
            return work()

        return leaving_out(lambda: while_listed(look)) if despite_unreadable else while_listed(look)

    def __getstate__(self) -> dict[str, Any]:
        """The facts of the files alone, without those that other packages derived."""
        return vars(self) | {"_kept": {}}

    def once(self, derive: Callable[[Self], _T]) -> _T:
        """The result of `derive` on this store; it is called at most once."""
        if derive not in self._kept:
            self._kept[derive] = derive(self)
        found: _T = self._kept[derive]
        return found

    def with_present_indexes(self) -> Self:
        """The store with the index files of this moment: a running broker may have rolled since. Other facts are kept."""
        if self.path is None:
            return self
        now = copy(self)
        for name in _OF_INDEXES:
            vars(now).pop(name, None)
        present = self.find(("index",), [])
        vars(now)["listed"] = (*(file for file in self.listed if file.kind != "index"), *present)
        return now

    def without(self, names: Collection[str]) -> Self:
        """The store as it would be without some files, of which nothing else is known; UsageError for a name that no file of the store has."""
        unknown = sorted(set(names) - {file.name for file in self.listed})
        if unknown:
            raise UsageError(
                f"{unknown[0]}: not a file of {self.name}; its files have names such as {self.listed[0].name}"
            )
        left = copy(self)
        left.hidden = frozenset(names)
        left.look_again()
        return left

    # --- the broker's state -------------------------------------------------------------------------------

    @cached_property
    def holder(self) -> int | None:
        """The process that holds the lock: its number, 0 if none does, None if the system cannot report it."""
        return None if self.path is None else lock_holder(self.path)

    @cached_property
    def state(self) -> State:
        """Whether a broker runs on the store, was killed, or was stopped.

        Only a process that holds the lock shows that one runs. The abort file alone shows that one was not stopped; where
        locks cannot be reported, it is taken for a running one.
        """
        if self.holder:
            return "live"
        if self.path is None or not (self.path / "abort").exists():
            return "stopped"
        return "live" if self.holder is None else "killed"

    @property
    def live(self) -> bool:
        """Whether a broker writes the store."""
        return self.state == "live"

    @property
    def clean(self) -> bool:
        """Whether the next start takes the last stop for a clean one: there is no abort file."""
        return self.state == "stopped"

    # --- files --------------------------------------------------------------------------------------------

    def find(self, kinds: Collection[str], skipped: list[tuple[str, str]]) -> list[StoreFile]:
        """The files of some kinds as they are now, also of those that are not in `listed`; `skipped` gets names and reasons. Errors as of `Files`."""
        assert self.path is not None
        try:
            found = find_files(
                self.path,
                kinds=kinds,
                commitlog=self.commitlog,
                left_out=tuple(self._left_out()),
                on_skip=lambda *skip: skipped.append(skip),
            )
            return [file for file in found if file.name not in self.hidden]
        except UsageError:
            if "log" in kinds and len(kinds) > 1:
                raise
            return []

    def _left_out(self) -> Iterator[OwnLog]:
        """The logs in the store's directory that the broker does not read."""
        if not self.has_own_log:
            yield "commitlog"
        if self.conf is not None and not self.conf.dledger:
            yield "dledger"

    @cached_property
    def has_own_log(self) -> bool:
        """Whether the broker's log is in the store's own `commitlog`: not where it is configured to be elsewhere, and is there."""
        if self.path is None or self.conf is None or not self.commitlog:
            return True
        own = self.path / "commitlog"
        return not self.conf.commit_logs or any(
            same_place(folder, own) for folder in logs_of(self.conf, self.path)
        )

    @cached_property
    def listed(self) -> tuple[StoreFile, ...]:
        """All files, by kind and in their order; listed once.

        While a broker runs the log's end is read before the other folders are listed, so that the queues and index files
        contain everything that is judged.
        """
        skipped: list[tuple[str, str]] = []
        if self.live:
            listed = self.find(_KINDS, [])
            vars(self)["_tail"] = log_tail([file for file in listed if file.kind == "log"])
        listed = self.find(_KINDS, skipped)
        vars(self)["skipped"] = tuple(skipped)
        return tuple(listed)

    @cached_property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """Name of each file that is none of a store's or cannot be read, with the reason."""
        self.listed  # noqa: B018 - which keeps them
        skipped: tuple[tuple[str, str], ...] = vars(self)["skipped"]
        return skipped

    def of(self, *kinds: str) -> tuple[StoreFile, ...]:
        """The files of some kinds."""
        return tuple(file for file in self.listed if file.kind in kinds)

    @cached_property
    def queues(self) -> tuple[StoreFile, ...]:
        """The consume-queue files."""
        return self.of("queue")

    @cached_property
    def exts(self) -> tuple[StoreFile, ...]:
        """The files of consume-queue ext."""
        return self.of("ext")

    @cached_property
    def batches(self) -> tuple[StoreFile, ...]:
        """The files of batch queues of 5.x."""
        return self.of("batch")

    @cached_property
    def checkpoints(self) -> tuple[StoreFile, ...]:
        """The checkpoint, if there is one."""
        return self.of("checkpoint")

    @cached_property
    def has_queue(self) -> frozenset[str]:
        """The topics that have a queue file."""
        return frozenset(file.topic or "" for file in (*self.queues, *self.batches))

    # --- the log ------------------------------------------------------------------------------------------

    @cached_property
    def _tail(self) -> Tail:
        return log_tail(self.of("log"))

    def present_tail(self) -> Tail:
        """The log's files and end as they are now, where a broker goes on writing; it is not kept."""
        return log_tail(self.find(("log",), []))

    @property
    def tail(self) -> Tail:
        """The files of the log that are there, and its end as it was when it was read."""
        if self.path is not None:
            self.listed  # noqa: B018 - of a live store the end is read while the files are listed
        return self._tail

    @property
    def logs(self) -> tuple[StoreFile, ...]:
        """The commit-log files, in order."""
        return self.tail.files

    @property
    def log_sizes(self) -> tuple[int, ...]:
        """Their lengths in bytes."""
        return self.tail.sizes

    @property
    def log_ends(self) -> list[int]:
        """Physical offsets after their last bytes."""
        return [file.base_offset + size for file, size in zip(self.logs, self.log_sizes, strict=True)]

    @property
    def log_breaks(self) -> list[tuple[int, int]]:
        """The end of one file and the begin of the next, physical offsets, where those differ; not where only zeros follow the log's end."""
        begins = (file.base_offset for file in self.logs[1:])
        breaks = [(end, begin) for end, begin in zip(self.log_ends, begins, strict=False) if end != begin]
        return [
            (end, begin) for end, begin in breaks if not self.end < end < begin or not self._ends_in_zeros
        ]

    @cached_property
    def _ends_in_zeros(self) -> bool:
        return zeros_after(self.logs, self.end)

    @property
    def begin(self) -> int:
        """Physical offset of the log's first byte, 0 without one."""
        return self.logs[0].base_offset if self.logs else 0

    @property
    def end(self) -> int:
        """Physical offset after the last record; what comes after it is not judged."""
        return self.tail.end

    @cached_property
    def oldest(self) -> int:
        """Store timestamp of the log's first record, in ms; 0 where none begins there."""
        entry = ENTRY.size if self.logs and self.logs[0].framed else 0
        found = self._record_head(self.begin + entry)
        return 0 if found is None else found.store_timestamp

    @property
    def newest(self) -> int | None:
        """Store timestamp of the newest record near the end, ms; None without records."""
        return self.tail.newest

    @property
    def framed(self) -> bool:
        """Whether the log is, or goes on, in DLedger mode."""
        return any(file.framed for file in self.logs)

    def log_at(self, phy_offset: int) -> StoreFile | None:
        """The log file in which a physical offset is."""
        number = bisect_right(self.logs, phy_offset, key=lambda file: file.base_offset) - 1
        within = number >= 0 and phy_offset < self.logs[number].base_offset + self.log_sizes[number]
        return self.logs[number] if within else None

    def at(self, phy_offset: int) -> tuple[str, int]:
        """Name of the file in which a physical offset is, and its place there."""
        file = self.log_at(phy_offset)
        return ("commitlog", phy_offset) if file is None else (file.name, phy_offset - file.base_offset)

    # --- the index ----------------------------------------------------------------------------------------

    @cached_property
    def indexes(self) -> tuple[tuple[StoreFile, IndexHeader], ...]:
        """The index files, by name, with their headers."""
        return tuple(read_headers(self.of("index")))

    @cached_property
    def _whole_indexes(self) -> list[StoreFile]:
        return of_usual_size(sized(file for file, _ in self.indexes))

    @cached_property
    def sound_indexes(self) -> frozenset[str]:
        """Names of the index files that have the length of most."""
        return frozenset(file.name for file in self._whole_indexes)

    @cached_property
    def _geometry(self) -> GeometryGuess | MalformedError | UsageError | None:
        files, conf, found = self._whole_indexes, self.conf, None
        try:
            found = resolve_some(files, self.given_geometry) if files else None
            if found is None or found.how == "given" or found.checked == found.agreed > 0:
                return found
        except (MalformedError, UsageError) as error:
            if self.given_geometry is not None and isinstance(error, UsageError):
                raise
            by_records = resolve_by_records(files, self.is_record)
            if by_records is None and conf is not None and size_of(files[0]) == conf.geometry.file_size:
                with suppress(MalformedError):
                    return resolve_some(files, conf.geometry)
            return by_records or error
        return resolve_by_records(files, self.is_record) or found

    def _record_head(self, phy_offset: int) -> FixedFields | None:
        """The fixed fields of the record that begins at a physical offset; None where no magic shows one."""
        file = self.log_at(phy_offset) if phy_offset >= 0 else None
        head = b"" if file is None else read_at(file, phy_offset - file.base_offset, HEAD_SIZE)
        if int.from_bytes(head[4:8], signed=True) not in RECORD_MAGICS or len(head) < HEAD_SIZE:
            return None
        return fixed_fields(head)

    def is_record(self, phy_offset: int) -> bool:
        """Whether a record of the log begins at a physical offset, by its magic and its own offset."""
        found = self._record_head(phy_offset)
        return found is not None and found.phy_offset == phy_offset

    def leads_home(self, topic: str, first: int, *, light: bool) -> bool | None:
        """Whether a unit of a topic's queues from one on leads to a message of theirs; else they are another topic's, or store's.

        Some are looked at; None if there is none whose message the log still has.
        """
        seen = False
        for file in self.queues:
            if file.topic != topic or (file.queue_id or 0) < first:
                continue
            rows = self.held(file)
            for row in rows[:: max(rows.size // _SAMPLE, 1)].tolist():
                ((offset, size, _),) = np.frombuffer(
                    read_at(file, row * QUEUE_UNIT.size, QUEUE_UNIT.size), UNIT_DTYPE
                ).tolist()
                log = self.log_at(offset)
                data = b"" if log is None else read_at(log, offset - log.base_offset, min(size, _LONGEST))
                if goes_to(data, topic, file.queue_id or 0, light=light):
                    return True
                seen = True
        return False if seen else None

    def held(self, file: StoreFile) -> NDArray[np.int64]:
        """The numbers of the units of a queue's file whose messages the log still has, ascending."""
        found = [np.empty(0, np.int64)]
        with file.open() as reader:
            for begin, end in reader.aligned(
                QUEUE_UNIT.size, reader.size // QUEUE_UNIT.size * QUEUE_UNIT.size
            ):
                for start in range(begin, end, _BYTES_AT_ONCE):
                    units = reader.read(start, min(_BYTES_AT_ONCE, end - start)).view(UNIT_DTYPE)
                    sizes = units["size"].astype(np.int32)
                    held = (sizes > 0) & (sizes < PRE_BLANK_SIZE)
                    held &= units["phy_offset"].astype(np.int64) >= self.begin
                    found.append(start // QUEUE_UNIT.size + np.flatnonzero(held))
        return np.concatenate(found)

    def transaction_at(self, phy_offset: int) -> int:
        """The transaction type in the sys flag of the record at a physical offset (4 PREPARED, 8 COMMIT, 12 ROLLBACK), else 0."""
        found = self._record_head(phy_offset)
        return 0 if found is None else found.sys_flag & _TRANSACTION

    @property
    def geometry(self) -> Geometry | None:
        """The geometry of the index files; None if it cannot be inferred, or there are none."""
        return self._geometry.geometry if isinstance(self._geometry, GeometryGuess) else None

    @cached_property
    def foreign_index(self) -> bool:
        """Whether the index files are another store's: of those that begin within the log, none begins with its record there."""
        begun = [header for _, header in self.indexes if header.index_count > 1]
        within = [header for header in begun if self.begin <= header.begin_phy_offset < self.end]
        heads = [(self._record_head(header.begin_phy_offset), header) for header in within]
        return bool(heads) and not any(
            head is not None
            and (head.phy_offset, head.store_timestamp) == (header.begin_phy_offset, header.begin_timestamp)
            for head, header in heads
        )

    @property
    def shape(self) -> Geometry | None:
        """The geometry that is known beforehand: the given one, or with a configuration that of the files; else None."""
        return self.given_geometry or (None if self.conf is None else self.geometry)

    @property
    def geometry_guess(self) -> GeometryGuess | None:
        """The geometry with what it follows from."""
        return self._geometry if isinstance(self._geometry, GeometryGuess) else None

    @property
    def geometry_fault(self) -> MalformedError | UsageError | None:
        """The reason that the geometry cannot be inferred."""
        return None if isinstance(self._geometry, GeometryGuess) else self._geometry

    @cached_property
    def opened_indexes(self) -> list[StoreFile]:
        """The index files as a broker opens them: others are cut off, or have zeros at their end; none without a geometry."""
        geometry, sound = self.geometry, self.sound_indexes
        if geometry is None:
            return []
        return [file if file.name in sound else file.resized(geometry.file_size) for file, _ in self.indexes]

    @property
    def content_indexes(self) -> list[StoreFile]:
        """The index files whose content can be checked: of a longer one, what a broker opens."""
        geometry, sound = self.geometry, self.sound_indexes
        whole = {
            file.name for file, _ in self.indexes if geometry and (size_of(file) or 0) > geometry.file_size
        }
        return [file for file in self.opened_indexes if file.name in sound | whole]
