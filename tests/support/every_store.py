"""Every kind of store - golden, damaged, broken as operators meet it, of 5.x, drawn - and what the verbs say of one."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple

from broken_stores import INCIDENTS, Incident
from generator.damage.catalogue import DLEDGER, KINDS
from generator.damage.store import DamagedCopy, applies
from golden_logs import SEVERAL
from incident_run import stage
from later_stores import FOLDER
from reference_starts import config_of, names
from rocket_columnar.audit import audited
from rocket_columnar.decode import decode
from rocket_columnar.facts import Store
from rocket_columnar.formats import hash_key
from rocket_columnar.repair import RepairPlan, Target, plan_repair, repair, undo
from rocket_columnar.report import AuditReport, audit
from rocket_columnar.restart import Restart, predicted
from rocket_columnar.store import BrokerConf, read_broker_conf
from rocket_conformance.store_verdict import StoreVerdict, judge_store
from rocket_golden import manifest, open_store, stores
from rocket_reference import JavaError, JavaFatalError, UnspecifiedError
from rocket_reference import MessageStore as Started
from rocket_spec.errors import FormatError, UsageError
from table_rows import Row

_LARGE: Final = 64 << 20
"""Bytes of a store that is not copied: those of default-geometry and of DLedger's own index are holes."""
_DRAWN: Final = 150


class Left(NamedTuple):
    """What the reference's start leaves of a plain store."""

    starts: bool  # whether it comes to an end
    entries: frozenset[tuple[int, int]] = frozenset()  # physical offset and key hash of each index entry
    units: frozenset[tuple[str, int, int]] = frozenset()  # topic, queue and physical offset of each unit


class Mended(NamedTuple):
    """A repair: its plan, why it was taken back, hashes of the files before it, after the plan, after it, and after its undo.

    `faults` are the codes of errors and warnings after it, of an audit that reads no bodies, as that of the plan, `topics` those with queues or in the list.
    """

    plan: RepairPlan
    worse: str
    before: dict[str, str]
    planned: dict[str, str]
    after: dict[str, str]
    undone: dict[str, str]
    faults: set[str]
    topics: set[str]


@dataclass(frozen=True)
class StoreKind:
    """A kind of store."""

    name: str  # unique
    base: str  # the golden store that it was made of; empty for one of 5.x
    # makes one in a new folder, and returns its directory, beside which may be a `broker.conf`
    make: Callable[[Path], Path]


class Subject:
    """A store, and what verbs say of it, each asked once.

    Attributes:
        name: of its kind.
        base: as of its kind.
        root: its directory.
        scratch: an empty folder for copies.
        conf: its broker's configuration; None if it is not known.
    """

    def __init__(self, kind: StoreKind, folder: Path) -> None:
        self.name, self.base = kind.name, kind.base
        self.root = kind.make(folder)
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        conf = self.root.parent / "broker.conf"
        self.conf: BrokerConf | None = read_broker_conf(conf) if conf.exists() else None

    def look(self, root: Path | None = None) -> Store:
        """The store, or a copy of it, as it is now."""
        root = root or self.root
        logs = [root / name for name in SEVERAL.get(self.base, ()) if (root / name).exists()]
        return Store(root, commitlog=logs, conf=self.conf)

    def copy(self, name: str) -> Path:
        """A copy of the store."""
        return Path(shutil.copytree(self.root, self.scratch / name / self.root.name, symlinks=True))

    @cached_property
    def store(self) -> Store:
        return self.look()

    @cached_property
    def report(self) -> AuditReport:
        return audit(self.look(), "deep")

    @cached_property
    def glance(self) -> AuditReport:
        """The findings of `inspect`."""
        return audit(self.look(), "quick")

    @cached_property
    def judged(self) -> StoreVerdict | None:
        """The verdict of `conform --store`; None where it refuses the store."""
        try:
            return judge_store(self.look(), audited)
        except (UsageError, FormatError, OSError):
            return None

    @property
    def faults(self) -> list[str]:
        """Codes of errors and warnings."""
        return [one.code for one in self.report if one.severity != "note"]

    @cached_property
    def small(self) -> bool:
        """Whether copies cost little."""
        return sum(path.stat().st_size for path in self.root.rglob("*") if path.is_file()) < _LARGE

    @cached_property
    def start(self) -> Restart | None:
        """The prediction; None where the release or the geometry is not known."""
        try:
            found = predicted(self.store)
        except UsageError:
            return None
        assert not isinstance(found, str)
        return found[self.conf is not None and self.conf.index_safe]

    @cached_property
    def keys(self) -> list[tuple[int, str, str]]:
        """Physical offset, topic and key of each key that dispatch indexes, of records that are read."""
        found: list[tuple[int, str, str]] = []
        columns = ("phy_offset", "topic", "sys_flag", "uniq_key", "keys")
        for row in rows_in(self.store, "log", "commit_log", *columns):
            texts = [row["uniq_key"], *(row["keys"] or "").split(" ")]
            if row["sys_flag"] & 12 != 12:  # a rollback is not indexed (IDX-SVC-9)
                found += [(row["phy_offset"], row["topic"], text) for text in texts if text]
        return found

    @cached_property
    def repaired(self) -> Mended | None:
        """A repair of a copy, and its undo; None if it is refused."""
        if not self.small:
            return None
        root = self.copy("repaired")
        target = Target(root, tuple(map(Path, self.look(root).commitlog)), None, self.conf)
        before = content(root)
        try:
            plan = plan_repair(target)
        except (UsageError, FormatError, OSError):
            assert content(root) == before
            return None
        planned, done, after = content(root), repair(target), content(root)
        mended = self.look(root)
        faults = {one.code for one in audit(mended) if one.severity != "note"}
        topics = {*(mended.listed_topics or ()), *mended.has_queue}
        if done.folder and not done.worse:
            undo(root)
        return Mended(plan, done.worse, before, planned, after, content(root), faults, topics)

    @property
    def has_reference(self) -> bool:
        """Whether the reference starts on such stores: plain ones of 4.9.3 with one folder for the log."""
        plain = self.base and self.base not in SEVERAL and not self.store.framed and not self.store.signs
        links = any(
            self.store.blocked.values()
        )  # in the place of folders that lead to nothing, where Python makes none
        return bool(plain and self.small and not links and (self.conf is None or not self.conf.dledger))

    def reference(self, root: Path) -> Started:
        """The reference on a copy."""
        return Started(root, config_of(self.base), new_index_name=names(), sleep=lambda _: None)

    @cached_property
    def left(self) -> Left:
        root = self.copy("started")
        started = self.reference(root)
        try:
            if not started.load():
                return Left(False)
            started.start()
            units = _units_of(started)
        except (JavaError, JavaFatalError, UnspecifiedError, OSError):
            return Left(False)
        finally:
            started.close()
        return Left(True, entries_in(self.look(root)), units)


def rows_in(store: Store, kind: str, table: str, *columns: str) -> Iterator[Row]:
    """The rows of a table, gaps of the log and files that cannot be read aside."""
    files = store.opened_indexes if kind == "index" else store.of(kind)
    with suppress(UsageError):  # no files, or index files without an entry, which show no geometry
        for _, batch in decode(
            files, tables=[table], columns=columns, on_gap=lambda _: None, on_error=lambda *_: None
        ):
            yield from batch.to_pylist()


def content(root: Path) -> dict[str, str]:
    """A hash of each file but the lock, which a repair makes where there is none."""
    files = (path for path in root.rglob("*") if path.is_file() and path != root / "lock")
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def entries_in(store: Store) -> frozenset[tuple[int, int]]:
    """Physical offset and key hash of each index entry."""
    rows = rows_in(store, "index", "index_entries", "phy_offset", "key_hash")
    return frozenset((row["phy_offset"], row["key_hash"]) for row in rows)


def units_in(store: Store) -> frozenset[tuple[str, int, int]]:
    """Topic, queue and physical offset of each unit that is no filler."""
    rows = rows_in(store, "queue", "consume_queue", "topic", "queue_id", "phy_offset", "pre_blank")
    return frozenset(
        (row["topic"], row["queue_id"], row["phy_offset"]) for row in rows if not row["pre_blank"]
    )


def _units_of(started: Started) -> frozenset[tuple[str, int, int]]:
    """The same of the queues of the reference, which leaves units after their ends."""
    bounds = ((queue, queue.bounds()) for queue in started.queues)
    held = ((queue, queue.get(number)) for queue, of in bounds for number in range(of.min, of.max))
    return frozenset(
        (queue.topic, queue.queue_id, unit.phy_offset) for queue, unit in held if unit is not None
    )


def hash_of(topic: str, key: str) -> int:
    return hash_key(f"{topic}#{key}")


_KINDS: Final = {kind.__name__: kind for kind in (*KINDS, *DLEDGER)}
_ENDLESS: Final = "index_cycle"
"""Queries of the real broker and of the reference never end in it."""


def _kill(root: Path) -> None:
    (root / "abort").touch()


def _remove_index(root: Path) -> None:
    shutil.rmtree(root / "index", ignore_errors=True)


def _remove_topic(root: Path) -> None:
    topics = sorted((root / "consumequeue").iterdir())
    if topics:
        shutil.rmtree(topics[-1])


def _cut_queues(root: Path) -> None:
    """The last three units of each queue were never flushed."""
    for queue in sorted((root / "consumequeue").glob("*/*")):
        data = [(path, path.read_bytes()) for path in sorted(queue.iterdir())]
        left = 3
        for path, units in reversed(data):
            count = len(units.rstrip(b"\0")) // 20 + bool(len(units.rstrip(b"\0")) % 20)
            kept = max(count - left, 0)
            path.write_bytes(units[: 20 * kept].ljust(len(units), b"\0"))
            left -= count - kept


_applies: Final = cache(applies)
_CRASHES: Final[dict[str, Sequence[Callable[[Path], None]]]] = {
    "killed": (_kill,),
    "topic deleted": (_remove_topic,),
    "topic deleted, killed": (_remove_topic, _kill),
    "queues behind": (_cut_queues,),
    "queues behind, killed": (_cut_queues, _kill),
    "index deleted, killed": (_remove_index, _kill),
}


def _damaged(base: str, draws: tuple[str, ...], folder: Path) -> Path:
    """A golden store after kinds of damage and crashes, one after the other, at places that their names draw."""
    root = open_store(base, folder)
    slots = manifest().stores[base].geometry[0]
    for draw in draws:
        for step in _CRASHES.get(draw, ()):
            step(root)
        with suppress(IndexError):  # what it damages is gone
            _KINDS.get(draw, lambda _: None)(DamagedCopy(root, slots, random.Random(f"{base} {draws}")))
    return root


def _of_damage(base: str, *draws: str) -> StoreKind:
    return StoreKind(f"{base}: {', '.join(draws)}", base, partial(_damaged, base, draws))


def _incident(incident: Incident, folder: Path) -> Path:
    return stage(incident, folder / "it").store


def _later(version: str, folder: Path) -> Path:
    shutil.unpack_archive(FOLDER / f"{version}.zip", folder)
    return folder / "store"


def _drawn() -> Iterator[StoreKind]:
    """Two things at once, damage or crashes."""
    rng = random.Random(4900)
    bases = ("mixed", "small-roll", "ipv6", "lmq", "expired", "transactions", "replica", "killed")
    for _ in range(_DRAWN):
        base = rng.choice(bases)
        kinds = [kind.__name__ for kind in KINDS if _applies(kind, base) and kind.__name__ != _ENDLESS]
        first, second = rng.choice([*kinds, *_CRASHES]), rng.choice([*_CRASHES, *kinds])
        if first != second and not (first in _CRASHES and second not in _CRASHES):
            yield _of_damage(base, first, second)


GOLDEN: Final = tuple(
    StoreKind(name, name, partial(open_store, name))
    for name in sorted({*stores(log=None), *stores(unclean=True, log=None)})
)
DAMAGED: Final = (
    *(
        _of_damage(base, kind.__name__)
        for base in ("mixed", "small-roll", "killed", "lmq", "ipv6")
        for kind in KINDS
        if _applies(kind, base) and kind.__name__ != _ENDLESS
    ),
    *(_of_damage("dledger", kind.__name__) for kind in DLEDGER),
    *(_of_damage(base, crash) for base in ("mixed", "expired", "transactions") for crash in _CRASHES),
)
BROKEN: Final = tuple(
    StoreKind(f"incident: {one.name}", one.base, partial(_incident, one)) for one in INCIDENTS
)
LATER: Final = tuple(
    StoreKind(f"RocketMQ {path.stem}", "", partial(_later, path.stem))
    for path in sorted(FOLDER.glob("*.zip"))
)
DRAWN: Final = tuple({kind.name: kind for kind in _drawn()}.values())
EVERY: Final = (*GOLDEN, *DAMAGED, *BROKEN, *LATER, *DRAWN)
