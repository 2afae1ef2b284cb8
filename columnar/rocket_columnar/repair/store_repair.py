"""Plans a repair, does it, and undoes it.

Index files and queues are rebuilt into a folder in the store, and put in place by renames; what they replace is kept there.
Afterwards an audit and the prediction of a start are compared with those before: if anything is worse, all is taken back. Topics that are not listed are added to `config/topics.json`.
The commit log is never changed, but for files that do not belong there.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_columnar.consumers import completed_topics, unlisted_topics
from rocket_columnar.findings import Finding
from rocket_columnar.rebuild import has_bytes_of, plan_rebuild, write_parts
from rocket_columnar.repair.folder import RepairFolder
from rocket_columnar.repair.outlook import Outlook
from rocket_columnar.report import REPAIRED, Report, audit, infers_geometry, sized_files
from rocket_columnar.restart import Restart, predicted, restarts
from rocket_columnar.store import BrokerConf, WorkDone, lock_holder

Moves = list[tuple[str, str]]
_TOPICS: Final = "config/topics.json"


@dataclass(frozen=True, slots=True)
class Target:
    """A store to repair, and what its files look like; as for `audit`."""

    store: Path
    commitlog: tuple[Path, ...] = ()
    geometry: Geometry | None = None
    conf: BrokerConf | None = None
    release: str | None = None

    @property
    def shape(self) -> dict[str, Any]:
        """The arguments that an audit and the prediction of a start have in common."""
        return {"geometry": self.geometry, "commitlog": self.commitlog, "release": self.release}

    def audit(self) -> Report:
        """What is wrong with the store."""
        return audit(self.store, broker_conf=self.conf, **self.shape)

    def chosen(self, found: tuple[Restart, Restart]) -> Restart:
        """The prediction for the broker's messageIndexSafe."""
        return found[1] if self.conf is not None and self.conf.index_safe else found[0]


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What a repair would do.

    Attributes:
        index: whether the index files are replaced.
        queues: whether queue files that differ from the log are replaced.
        aside: files that are moved into the repair's folder.
        topics: number of queues of each topic that is added to the list of topics.
        left: errors and warnings that a repair does not cure.
        outlook: of the store as it is.
    """

    index: bool
    queues: bool
    aside: tuple[str, ...]
    topics: Mapping[str, int]
    left: tuple[Finding, ...]
    outlook: Outlook

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.index or self.queues or self.aside or self.topics)


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did.

    Attributes:
        plan: what it was to do.
        folder: what keeps the replaced files; empty if nothing was replaced.
        replaced: number of files that were replaced or moved away.
        placed: number of files that were put in place.
        after: the outlook afterwards.
        worse: why the repair was undone; empty if it was not.
    """

    plan: RepairPlan
    folder: str
    replaced: int
    placed: int
    after: Outlook
    worse: str


def plan_repair(target: Target) -> RepairPlan:
    """What a repair would do; nothing is written.

    Raises:
        UsageError: a broker runs, the geometry is unknown, or 5.x wrote to the store.
        OSError: the store cannot be read.
    """
    _refuse_running(target.store)
    found = predicted(target.store, **target.shape)
    if isinstance(found, str):
        raise UsageError(f"{target.store}: a broker is running ({found}); stop it before a repair")
    report = target.audit()
    if report.signs:
        raise UsageError(f"{target.store}: a release of 5.x wrote to this store, which repair does not know")
    roots: list[Finding] = []
    left: list[Finding] = []
    for cause in report.causes:
        of_log = any(_is_of_log(root) for root in cause.roots)
        for root in cause.roots if of_log else (*cause.roots, *cause.consequences):
            if root.severity != "note":
                (left if of_log or root.remedy not in REPAIRED else roots).append(root)
    kinds = {root.remedy for root in roots}
    aside = {root.file for root in roots if root.remedy == "aside"}
    aside |= {"checkpoint"} if "checkpoint" in kinds else set()
    aside |= {
        root.file
        for root in roots
        if root.code in ("queue.order", "queue.wrong_target", "queue.dangling") and root.offset == 0
    }
    return RepairPlan(
        "index" in kinds,
        "queues" in kinds,
        tuple(sorted(name for name in aside if (target.store / name).exists())),
        unlisted_topics(target.store, commitlog=target.commitlog) if "topics" in kinds else {},
        tuple(left),
        Outlook.of(target.store, target.commitlog, target.chosen(found), report),
    )  # fmt: skip


def _is_of_log(root: Finding) -> bool:
    """Whether the log is damaged: what is replaced then may be needed beside a replica's files."""
    return root.code.startswith("log.") and root.severity != "note" and root.remedy != "aside"


def repair(target: Target) -> Repaired:
    """Repairs a store.

    Raises:
        UsageError: as `plan_repair`; another repair runs or was interrupted, or the sizes of new files are unknown.
        OSError: reading or writing fails; the store is then as it was.
    """
    with _alone(target.store):
        earlier = RepairFolder.newest(target.store)
        if earlier is not None and not earlier.read()["done"]:
            raise UsageError(f"{earlier.path}: an earlier repair was interrupted; undo it first (--undo)")
        plan = plan_repair(target)
        if plan.empty:
            return Repaired(plan, "", 0, 0, plan.outlook, "")
        with _broker_locked_out(target.store):
            return _placed(target, plan, RepairFolder.make(target.store))


def _placed(target: Target, plan: RepairPlan, folder: RepairFolder) -> Repaired:
    undone = True
    try:
        moves = _moves(target, plan, folder)
        folder.write(moves, done=False)
        folder.move(moves)
        found = restarts(target.store, **target.shape)
        after = Outlook.of(target.store, target.commitlog, target.chosen(found), target.audit())
        worse = after.worse_than(plan.outlook)
        undone = bool(worse) or not moves
        if not undone:
            folder.write(moves, done=True)
    finally:  # an interrupt takes everything back, too
        if undone:
            folder.take_back()
    placed = sum(source.startswith(folder.name) for source, _ in moves)
    return Repaired(plan, folder.name if moves else "", len(moves) - placed, placed, after, worse)


def undo(store: Path) -> str:
    """Takes back the last repair of a store; returns the name of its folder, which is removed.

    Raises:
        UsageError: there is none, a broker runs, or has written to the new files.
        OSError: a file cannot be moved.
    """
    with _alone(store):
        folder = RepairFolder.newest(store)
        if folder is None:
            raise UsageError(f"{store}: contains no repair that could be undone")
        changed = folder.changed()
        if changed is not None:
            raise UsageError(
                f"{store / changed}: has been written since the repair, which can no longer be undone; "
                f"{folder.path} keeps the files that were replaced"
            )
        with _broker_locked_out(store):
            folder.write(folder.read()["moves"], done=False)  # an undo that is interrupted can be repeated
            folder.take_back()
        return folder.name


def _moves(target: Target, plan: RepairPlan, folder: RepairFolder) -> Moves:
    """Rebuilds what is needed into the folder; the moves that put it in place, and what it replaces into the folder."""
    store, old, new = target.store, f"{folder.name}/old", f"{folder.name}/new"
    away, into = list(plan.aside), list[str]()
    unknown: set[str] = set()
    if plan.index or plan.queues:
        unknown = _rebuilt(target, folder.path / "new")
    if plan.index:
        away += [f"index/{path.name}" for path in sorted((store / "index").glob("*"))]
        into += [f"index/{path.name}" for path in sorted((folder.path / "new" / "index").iterdir())]
    if plan.queues:
        own = {file.name: file for file, _ in sized_files(store, "queue")}
        for path in sorted((folder.path / "new" / "consumequeue").rglob("*")):
            name = path.relative_to(folder.path / "new").as_posix()
            if path.is_file() and not (name in own and has_bytes_of(path, own[name])):
                into.append(name)
                away += [name] if (store / name).exists() else []
    if plan.topics:
        listed = folder.path / "new" / _TOPICS
        listed.parent.mkdir(parents=True)
        listed.write_text(completed_topics(store, plan.topics), "utf-8")
        into.append(_TOPICS)
        away += [_TOPICS] if (store / _TOPICS).exists() else []
    away = [name for name in dict.fromkeys(away) if name.rpartition("/")[0] not in unknown]
    _give(store, [folder.path / "new" / name for name in into])
    return [(name, f"{old}/{name}") for name in away] + [(f"{new}/{name}", name) for name in into]


def _rebuilt(target: Target, new: Path) -> set[str]:
    """Rebuilds index files and queues into a new folder; returns the folders of queues whose places are unknown."""
    store, conf = target.store, target.conf
    has_queues = bool(sized_files(store, "queue"))
    inferred = target.geometry is not None or infers_geometry(store)
    if conf is None and not (inferred and has_queues):
        raise UsageError(
            f"{store}: has no {'consume queue' if inferred else 'index file'} to take the size of new files from; give "
            "--broker-conf FILE"
        )
    geometry = target.geometry or (None if conf is None or inferred else conf.geometry)
    size = None if conf is None or has_queues else conf.queue_file_size
    plan = plan_rebuild(store, geometry, size, commitlog=target.commitlog, release=target.release)
    if conf is not None and not has_queues:
        plan = replace(plan, rules=plan.rules._replace(light=conf.light_queues))
    scratch = new.with_name("scratch")
    for folder in (new, scratch, new / "consumequeue"):
        folder.mkdir()
    dispatched, left_out = write_parts(plan, new, scratch, WorkDone(None))
    shutil.rmtree(scratch)
    unknown = [*(queue for part in dispatched for queue in part.left_out), *left_out]
    return {f"consumequeue/{queue.topic}/{queue.queue_id}" for queue in unknown}


def _give(store: Path, files: Sequence[Path]) -> None:
    """Has new files belong to the owner of the store, if this user may."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        owner = store.stat()
        for path in {path for file in files for path in (file, file.parent, file.parent.parent)}:
            os.chown(path, owner.st_uid, owner.st_gid)


def _refuse_running(store: Path) -> None:
    holder = lock_holder(store)
    if holder:
        held = f"process {holder} holds" if holder > 0 else "another machine holds"
        raise UsageError(f"{store}: a broker is running ({held} its lock); stop it before a repair")
    if holder is None and (store / "abort").exists():
        raise UsageError(f"{store}: a broker may be running (abort exists); stop it before a repair")


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    """Keeps other repairs out."""
    try:
        import fcntl
    except ImportError:
        raise UsageError("repair needs a system with locks on directories") from None
    if not store.is_dir():
        raise UsageError(f"{store}: not a directory")
    descriptor = os.open(store, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"{store}: another repair is running") from None
    else:
        _refuse_running(store)  # after that: another repair holds the broker's lock, too
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _broker_locked_out(store: Path) -> Iterator[None]:
    """Holds the broker's lock (`DefaultMessageStore.start` 221): one that is started meanwhile fails."""
    import fcntl

    path = store / "lock"
    if not path.exists():
        yield
        return
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        except OSError as error:
            raise UsageError(f"{path}: a broker was started meanwhile") from error
        yield
