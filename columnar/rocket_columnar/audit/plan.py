"""What an audit checks: the files of a store, where its log ends, and the ranges into which it is cut."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, get_args

from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import Geometry
from rocket_spec.profiles import profile

from rocket_columnar.audit.file_check import stray
from rocket_columnar.findings import Finding, finding, unread_findings
from rocket_columnar.formats import LONG_MAX
from rocket_columnar.index import IndexHeader, read_headers, resolve_some
from rocket_columnar.log import RULES_4_9_3, KeyRules, Tail, log_tail
from rocket_columnar.store import (
    KINDS,
    Sign,
    StoreFile,
    find_files,
    folder_signs,
    later_signs,
    list_kind,
    of_usual_size,
    require_store,
    sized,
)

Level = Literal["quick", "default", "deep"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

_PARTS: Final = ("commitlog", "consumequeue", "index", "checkpoint")
_KINDS: Final = (*KINDS, "batch", "timer_log", "timer_wheel")
_LATER_FOLDERS: Final = ("batchconsumequeue", "timerlog")
_RANGE: Final = 32 << 20
_LONGEST: Final = (1 << 31) - 1
_MOST_RANGES: Final = 256


@dataclass(frozen=True, slots=True)
class Range:
    """A range of physical offsets that is checked at once.

    Attributes:
        number: its place among the ranges.
        begin: physical offset of its first byte.
        end: physical offset after its last byte.
        log: place of its file among the plan's logs; None if no file holds these offsets.
        exact: whether a record is known to begin at `begin`.
    """

    number: int
    begin: int
    end: int
    log: int | None
    exact: bool

    @property
    def last(self) -> int:
        """Physical offset of its last byte; for the last range the greatest possible one."""
        return self.end if self.end == LONG_MAX else self.end - 1

    @property
    def size(self) -> int:
        """Bytes of the log in it."""
        return 0 if self.log is None else self.end - self.begin


@dataclass(frozen=True, slots=True)
class Plan:
    """What an audit checks.

    Attributes:
        store: directory of the store, to read it again; None if there is none.
        level: how much is checked; see `make_plan`.
        live: whether the store has an abort file: a broker writes it, or died.
        logs: the commit-log files, in order.
        log_sizes: their lengths in bytes.
        queues: the consume-queue files.
        exts: the files of consume-queue ext.
        indexes: the index files, by name, with their headers.
        checkpoints: the checkpoint, if there is one.
        begin: physical offset of the log's first byte, 0 without one.
        end: physical offset after the last record that was there; what comes after it is not judged.
        newest: store timestamp of the newest record near the end, ms; None without records.
        geometry: of the index files; None if it cannot be inferred.
        sound_indexes: names of the index files whose content can be checked.
        ranges: all physical offsets from `begin` on.
        findings: those of planning.
        commitlog: further directories of the commit log.
        signs: of 5.x.
        batches: the files of its batch queues.
        timers: those of its timer log and wheel.
        keys: what its release reads in the properties of a record.
    """

    store: Path | None
    level: Level
    live: bool
    logs: tuple[StoreFile, ...]
    log_sizes: tuple[int, ...]
    queues: tuple[StoreFile, ...]
    exts: tuple[StoreFile, ...]
    indexes: tuple[tuple[StoreFile, IndexHeader], ...]
    checkpoints: tuple[StoreFile, ...]
    begin: int
    end: int
    newest: int | None
    geometry: Geometry | None
    sound_indexes: frozenset[str]
    ranges: tuple[Range, ...]
    findings: tuple[Finding, ...]
    commitlog: tuple[Path, ...] = ()
    signs: tuple[Sign, ...] = ()
    batches: tuple[StoreFile, ...] = ()
    timers: tuple[StoreFile, ...] = ()
    keys: KeyRules = RULES_4_9_3

    @property
    def deep(self) -> bool:
        """Whether bodies are compared with their checksums, and walks of queries are followed."""
        return self.level == "deep"

    @property
    def content_indexes(self) -> list[StoreFile]:
        """The index files whose content is checked."""
        if self.geometry is None:
            return []
        return [file for file, _ in self.indexes if file.name in self.sound_indexes]

    def log_at(self, phy_offset: int) -> StoreFile | None:
        """The log file in which a physical offset is."""
        number = bisect_right(self.logs, phy_offset, key=lambda file: file.base_offset) - 1
        within = number >= 0 and phy_offset < self.logs[number].base_offset + self.log_sizes[number]
        return self.logs[number] if within else None

    def at(self, phy_offset: int) -> tuple[str, int]:
        """Name of the file in which a physical offset is, and its place there."""
        file = self.log_at(phy_offset)
        return ("commitlog", phy_offset) if file is None else (file.name, phy_offset - file.base_offset)


def make_plan(
    store: Path | str,
    level: Level = "default",
    *,
    geometry: Geometry | None = None,
    range_size: int = _RANGE,
    commitlog: Sequence[Path | str] = (),
    release: str | None = None,
) -> Plan:
    """Lists a store's files and reads where its log ends.

    The end is read first, so that in a store in use the queues and index files, read later, contain everything that is judged.

    Args:
        store: the directory of a store.
        level: "quick" checks names, sizes, headers, checkpoint and continuity; "default" compares every unit
            and entry with the log's records, and vice versa; "deep" also verifies the bodies' checksums and
            reports entries that a query of their own key does not reach.
        geometry: of the index files; by default inferred.
        range_size: maximum bytes of log in a range.
        commitlog: further directories of the commit log, as for `find_files`.
        release: that wrote the store; by default 4.9.3, or 5.x as the files show.

    Raises:
        UsageError: an unknown level or release, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    if level not in LEVELS:
        raise UsageError(f"unknown level {level!r}; there are {', '.join(LEVELS)}")
    store = Path(store)
    require_store(store, _PARTS)
    folders = tuple(map(Path, commitlog))
    tail = log_tail(list_kind(store, "log", folders))
    skipped: list[tuple[str, str]] = []

    def skip(name: str, reason: str) -> None:
        if not name.startswith(_LATER_FOLDERS):
            skipped.append((name, reason))

    listed = find_files(store, kinds=_KINDS, commitlog=folders, on_skip=skip)
    strays = (
        [*filter(None, map(stray, *zip(*skipped, strict=True))), *unread_findings(skipped)] if skipped else []
    )
    files = [*tail.files, *(file for file in listed if file.kind != "log")]
    live = (store / "abort").exists()
    plan = plan_files(files, level, live=live, geometry=geometry, range_size=range_size, end=tail)
    signs = (*plan.signs, *folder_signs(store))
    if release is not None and profile(release).version.startswith("5."):
        signs = (*signs, Sign("config", f"--rocketmq-profile {release}"))
    return replace(
        plan,
        store=store,
        commitlog=folders,
        signs=signs,
        findings=(*strays, *plan.findings),
        keys=KeyRules(one_separator=release is not None and KeyRules.of(release).one_separator),
    )


def plan_files(
    files: Sequence[StoreFile],
    level: Level = "default",
    *,
    live: bool = False,
    geometry: Geometry | None = None,
    range_size: int = _RANGE,
    end: Tail | None = None,
) -> Plan:
    """A plan for files that need not be in a directory of this machine; arguments as with `make_plan`."""
    of: dict[str, list[StoreFile]] = defaultdict(list)
    for file in files:
        of[file.kind].append(file)
    tail = log_tail(of["log"]) if end is None else end
    indexes = read_headers(of["index"])
    found: list[Finding] = []
    whole = _usual(indexes)
    shape = _geometry(whole, geometry, found.append)
    begin = tail.files[0].base_offset if tail.files else 0
    return Plan(
        store=None,
        level=level,
        live=live,
        logs=tail.files,
        log_sizes=tail.sizes,
        queues=tuple(of["queue"]),
        exts=tuple(of["ext"]),
        indexes=tuple(indexes),
        checkpoints=tuple(of["checkpoint"]),
        begin=begin,
        end=tail.end,
        newest=tail.newest,
        geometry=shape,
        sound_indexes=frozenset(file.name for file in whole),
        ranges=tuple(_ranges(tail, range_size)),
        findings=tuple(found),
        signs=later_signs(files),
        batches=tuple(of["batch"]),
        timers=(*of["timer_log"], *of["timer_wheel"]),
    )


def relisted(plan: Plan) -> Plan:
    """The plan with the present index files: a broker may have rolled since."""
    if plan.store is None:
        return plan
    indexes = read_headers(list_kind(plan.store, "index", plan.commitlog))
    whole = frozenset(file.name for file in _usual(indexes))
    return replace(plan, indexes=tuple(indexes), sound_indexes=whole)


def _usual(indexes: Sequence[tuple[StoreFile, IndexHeader]]) -> list[StoreFile]:
    """The index files of the usual size."""
    return of_usual_size(sized(file for file, _ in indexes))


def _ranges(tail: Tail, size: int) -> list[Range]:
    """All physical offsets from the log's first on, cut at files and into ranges of `size`."""
    cut: list[tuple[int, int, int | None, bool]] = []
    position = tail.files[0].base_offset if tail.files else 0
    for number, (file, length, filled) in enumerate(zip(tail.files, tail.sizes, tail.filled, strict=True)):
        base = file.base_offset
        if base > position:
            cut.append((position, base, None, True))
        following = tail.files[number + 1].base_offset if number + 1 < len(tail.files) else LONG_MAX
        end = min(base + length, following)
        # No real file is longer than Java's int; a longer one is mostly a hole, and has few ranges all the same.
        step = max(size, filled // _MOST_RANGES) if filled > _LONGEST else size
        steps = range(base, base + max(min(filled, end - base), 1), step)
        cut += [(begin, min(begin + step, end), number, begin == base) for begin in steps[:-1]]
        if end > base:
            cut.append((steps[-1], end, number, steps[-1] == base))
        position = end
    cut.append((position, LONG_MAX, None, True))
    return [Range(number, *bounds) for number, bounds in enumerate(cut)]


def _geometry(
    files: Sequence[StoreFile], given: Geometry | None, report: Callable[[Finding], None]
) -> Geometry | None:
    """The geometry of the index files, or None if it cannot be inferred; then their content is not checked."""
    if not files:
        return None
    try:
        return resolve_some(files, given).geometry
    except MalformedError as error:
        code = "index.size" if error.offset is None else "index.header_count"
        text = f"found {error.found}, expected {error.expected}; the content of the index files cannot be checked"
        report(finding(code, files[0].name, error.offset, text))
        return None
    except UsageError as error:
        if given is not None:
            raise
        if any(header.index_count > 1 for _, header in read_headers(files)):
            text = str(error).removeprefix(f"{files[0].path}: ")
            report(finding("index.geometry", files[0].name, None, text))
        return None
