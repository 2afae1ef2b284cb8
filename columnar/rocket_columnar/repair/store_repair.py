"""Plans a repair, does it, and undoes it.

Index files and queues are rebuilt into a folder in the store, and put in place by renames; what they replace is kept there.
Afterwards an audit and the prediction of a start are compared with those before: if anything is worse, all is taken back.
Topics that are not listed are added to `config/topics.json`, and offsets beyond their queues that groups had reached
before the log lost its end are set to the ends of these.
The commit log is never changed, but for files that do not belong there.
"""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from rocket_spec.errors import MalformedError, UsageError

from rocket_columnar.consumers import Moved, completed_topics, corrected_offsets, moved_offsets
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.repair.choice import Outlook, Target, is_aside, rebuilt
from rocket_columnar.repair.folder import RepairFolder, Root, can_move
from rocket_columnar.report import REPAIRED, REPAIRED_LATER, AuditReport, audit
from rocket_columnar.restart import predicted, restarts
from rocket_columnar.store import hold_lock, links_in, lock_holder, require_regular

_LOG: Final = "commitlog/"
_TOPICS: Final = "config/topics.json"
_OFFSETS: Final = "config/consumerOffset.json"
_BEYOND: Final = "consumer.offset_beyond_queue"


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The plan of a repair, file by file."""

    away: tuple[str, ...]  # files that are moved into the repair's folder
    into: tuple[str, ...]  # files that are put in place
    topics: Mapping[str, int]  # number of queues of each topic that is added to the list of topics
    offsets: tuple[Moved, ...]  # those of groups that are moved
    left: tuple[Finding, ...]  # errors and warnings that a repair does not cure
    outlook: Outlook  # of the store as it is

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.away or self.into)


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair."""

    plan: RepairPlan  # what it was to do
    folder: str  # what keeps the replaced files; empty if nothing was replaced
    after: Outlook
    worse: str  # why the repair was undone; empty if it was not


class _Survey(NamedTuple):
    """The result of an audit: findings to cure, those that are left, and the outlook."""

    roots: list[Finding]
    left: list[Finding]
    outlook: Outlook


def plan_repair(target: Target) -> RepairPlan:
    """Plans a repair; nothing is written to the store. New files are built in a temporary directory.

    Raises UsageError: a broker runs, an earlier repair was interrupted, or the sizes of new files are unknown.
    Raises FormatError: the journal of an earlier repair is none.
    """
    with _opened(target.store) as root:
        _refuse(root)
        survey = _survey(target)
        with TemporaryDirectory(prefix="rocketspec-") as scratch:
            new = Path(scratch, "new")
            new.mkdir()
            return _prepared(target, survey, new)


def repair(target: Target) -> Repaired:
    """Repairs a store. No broker can start meanwhile: its lock is held from the first look to the last rename.

    Errors as of `plan_repair`, and a UsageError if another repair runs. If reading or writing fails, the store is as it was.
    """
    with _alone(target.store) as root:
        _refuse(root)
        survey = _survey(target)
        if not survey.roots:
            plan = RepairPlan((), (), {}, (), tuple(survey.left), survey.outlook)
            return Repaired(plan, "", plan.outlook, "")
        return _placed(target, survey, RepairFolder.make(root))


def undo(store: Path) -> str:
    """Takes back the last repair of a store; returns the name of its folder, which is removed.

    UsageError if there is none, or a broker runs, or has written to the new files; FormatError if the journal is none.
    """
    with _alone(store) as root:
        _refuse_links(root)
        folder = RepairFolder.newest(root)
        if folder is None:
            raise UsageError(f"{store}: contains no repair that could be undone")
        _refuse_links(root, folder.read().away)
        folder.take_back()
        return folder.name


def _placed(target: Target, survey: _Survey, folder: RepairFolder) -> Repaired:
    undone = True
    try:
        with folder.building() as new:
            plan = _prepared(target, survey, new)
        folder.place(folder.planned(plan.away, plan.into))
        store = target.look()
        after = _outlook(target, store, audit(store))
        worse = "" if plan.empty else after.worse_than(plan.outlook)
        if not worse and not plan.empty:
            folder.finish()
            undone = False
    finally:  # an interrupt takes everything back, too
        if undone:
            folder.take_back()
    return Repaired(plan, "" if plan.empty else folder.name, after, worse)


def _survey(target: Target) -> _Survey:
    store = target.look()
    report = audit(store)
    outlook = _outlook(target, store, report)
    remedies = REPAIRED_LATER if report.signs else REPAIRED
    roots: list[Finding] = []
    left: list[Finding] = []
    # A `commitlog` that is elsewhere is left: nothing is moved out of it by a rename.
    fixed = _LOG if (target.store / _LOG).is_symlink() else "/"
    for cause in report.causes:
        # Of a damaged log, what is replaced may be needed beside a replica's files.
        of_log = any(
            root.code.startswith("log.")
            and root.severity != "note"
            and (root.remedy != "aside" or bool(root.own_name))
            for root in cause.roots
        )
        for root in cause.roots if of_log else (*cause.roots, *cause.consequences):
            if root.severity != "note":
                can_cure = not is_aside(root) or (can_move(root.file) and not root.file.startswith(fixed))
                named = root.code == _BEYOND and (target.to_end or target.offsets is not None)
                cured = (root.remedy in remedies or named) and not of_log and can_cure
                (roots if cured else left).append(root)
    return _Survey(roots, left, outlook)


def _outlook(target: Target, store: Store, report: AuditReport) -> Outlook:
    """The prediction for a store; for one of 5.x there may be none."""
    try:
        found = predicted(store)
    except UsageError:
        if not report.signs:
            raise
        return Outlook.unpredicted(report)
    if isinstance(found, str):
        raise UsageError(f"{target.store}: a broker is running ({found}); stop it before a repair")
    return Outlook.of(store, target.chosen(found), report)


def _prepared(target: Target, survey: _Survey, new: Path) -> RepairPlan:
    """Builds all new files in a folder."""
    store, left = target.store, list(survey.left)
    aside = [root for root in survey.roots if is_aside(root)]
    left += [
        root for root in aside if not (store / root.file).exists()
    ]  # a name that is not UTF-8 is another there
    moved = sorted({root.file for root in aside} - {root.file for root in left})
    try:
        files = rebuilt(target, survey.roots, moved, new)
        configured = _configured(target, survey.roots, new, left)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a write does not name its file
            raise OSError(error.errno, error.strerror, os.fspath(new)) from error
        raise
    into, away = list(files.into), [*moved, *files.away]
    for name, changed in zip((_TOPICS, _OFFSETS), configured, strict=True):
        if changed:
            into.append(name)
            away += [name] if (store / name).exists() else []
    for folder in {above for name in into for above in (store / name).parents if above.is_relative_to(store)}:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(folder))
    for path in sorted(new.rglob("*"), reverse=True):
        if path.is_dir():
            with suppress(OSError):  # something is in it
                path.rmdir()
        elif path.relative_to(new).as_posix() not in into:
            path.unlink()
    empty = not (into or away or any(configured))
    left += [root for root in survey.roots if empty and root not in left]
    return RepairPlan(tuple(dict.fromkeys(away)), tuple(into), *configured, tuple(left), survey.outlook)


def _configured(
    target: Target, roots: Sequence[Finding], new: Path, left: list[Finding]
) -> tuple[Mapping[str, int], tuple[Moved, ...]]:
    """Writes the files of the configuration; topics that are added, and offsets that are moved. A file that cannot be written is left."""
    store = target.look()
    kinds = {root.remedy for root in roots}
    topics = {**store.unlisted, **restarts(store)[0].made} if "topics" in kinds else {}
    beyond = [root for root in roots if root.code == _BEYOND]
    offsets = moved_offsets(store, target.offsets, to_end=target.to_end) if beyond else []
    left += [] if offsets else beyond
    (new / "config").mkdir()
    try:
        if topics:
            (new / _TOPICS).write_text(completed_topics(store, topics), "utf-8")
    except MalformedError:
        topics, left[:] = {}, [*left, *(root for root in roots if root.remedy == "topics")]
    try:
        if offsets:
            (new / _OFFSETS).write_text(corrected_offsets(store, offsets), "utf-8")
    except MalformedError:
        offsets, left[:] = [], [*left, *beyond]
    return topics, tuple(offsets)


def _refuse(root: Root) -> None:
    """Refuses a store in use, one with links, and one with a repair that was interrupted."""
    _refuse_running(root.path)
    _refuse_links(root)
    folder = RepairFolder.newest(root)
    if folder is not None:
        folder.read()
        if not folder.done:
            raise UsageError(f"{folder.path}: an earlier repair was interrupted; undo it first (--undo)")


def _refuse_links(root: Root, moved: Sequence[str] = ()) -> None:
    """Refuses a store of which a part is elsewhere, where a repair writes: all but `commitlog`, unless files of it are moved back."""
    through = "" if any(place.startswith(_LOG) for place in moved) else "commitlog"
    name = next((name for name in links_in(root.path) if name != through), None)
    if name is not None:
        reason = "a symbolic link, which a repair does not follow; mount what it leads to, or move it here"
        raise OSError(errno.ELOOP, reason, os.fspath(root.path / name))


def _refuse_running(store: Path) -> None:
    if (store / "lock").exists():
        require_regular(store / "lock", (store / "lock").stat().st_mode)
    holder = lock_holder(store)
    if holder:
        held = f"process {holder} holds" if holder > 0 else "a process on another machine, or a repair, holds"
        raise UsageError(f"{store}: a broker is running ({held} its lock); stop it before a repair")
    if holder is None and (store / "abort").exists():
        raise UsageError(f"{store}: a broker may be running (abort exists); stop it before a repair")


@contextmanager
def _opened(store: Path) -> Iterator[Root]:
    if store.is_file():
        raise UsageError(f"{store}: a file; expected the directory of a store")
    descriptor = os.open(store, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Root(store, descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _alone(store: Path) -> Iterator[Root]:
    """Keeps other repairs out, and brokers."""
    try:
        import fcntl
    except ImportError:
        raise UsageError("repair needs a system with locks on directories") from None
    with _opened(store) as root:
        try:
            fcntl.flock(root.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{store}: another repair is running") from None
        _refuse_running(store)
        with hold_lock(store, root.descriptor):
            for folder in RepairFolder.every(root):
                if not folder.has_journal:
                    folder.remove_empty()
            yield root
