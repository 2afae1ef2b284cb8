"""Groups findings by cause: what went wrong first, what follows from it, and one cure that works in that state."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from rocket_spec.printable import shell_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rocket_columnar.findings import Finding, Severity

__all__ = ["Cause", "find_causes"]

_GRAVITY: Final = {"error": 0, "warning": 1, "note": 2}
_DANGLING: Final = ("queue.dangling", "index.entry_dangling")
_LOG_DAMAGE: Final = ("log.gap", "log.magic", "log.length", "log.position", "log.crc")

_REBUILT_INDEX: Final = (
    "rocketspec rebuild STORE -o rebuilt-index",
    "mv STORE/index index.old",
    "cp -R rebuilt-index/index STORE/index",
)
_REBUILT_WITH_CONF: Final = "rocketspec rebuild STORE -o rebuilt-index --broker-conf BROKER.CONF"
_REBUILT_QUEUES: Final = (
    "rocketspec rebuild STORE -o rebuilt-queues --only-missing",
    "cp -R rebuilt-queues/consumequeue/. STORE/consumequeue/",
)
_DECODED_REST: Final = "rocketspec decode STORE -o left --table commit_log --format parquet"
_MISSING_LOGS: Final = "cp -n REPLICA/commitlog/* STORE/commitlog/"
_ACCEPTED_LOSS: Final = (
    "rocketspec rebuild STORE -o rebuilt",
    "mkdir old",
    "mv STORE/index STORE/consumequeue STORE/checkpoint old/",
    "cp -R rebuilt/index rebuilt/consumequeue STORE/",
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings with one cause.

    Attributes:
        title: what is wrong, for people; empty if the findings suffice.
        roots: the findings that show the cause, worst first; never empty.
        consequences: the findings that follow from it.
        cure: what to do about it, in words.
        commands: the same as shell commands, to be run while the broker is stopped. STORE stands for the store,
            REPLICA for a copy of it, such as a slave's store; BROKER.CONF for the broker's configuration file.
        otherwise: what to do if that is impossible, because there is no replica; empty if nothing can be done.
        other_commands: the same as shell commands.
    """

    title: str
    roots: tuple[Finding, ...]
    consequences: tuple[Finding, ...]
    cure: str
    commands: tuple[str, ...] = ()
    otherwise: str = ""
    other_commands: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """That of the worst finding."""
        return self.roots[0].severity

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, each with the cure of this cause."""
        text = "; ".join((self.cure, *self.commands))
        return tuple(replace(finding, cure=text) for finding in (*self.roots, *self.consequences))

    def counts(self) -> Counter[str]:
        """Number of consequences by code."""
        return Counter(finding.code for finding in self.consequences)


def find_causes(
    findings: Iterable[Finding],
    *,
    has_index: bool,
    has_queues: bool,
    last_log: str | None = None,
    knows_geometry: bool = True,
) -> list[Cause]:
    """The causes of an audit's findings, worst first; each finding is in exactly one.

    Args:
        findings: those of one store.
        has_index: whether the store has any index file.
        has_queues: whether it has any consume-queue file.
        last_log: name of its last commit-log file, if that is known.
        knows_geometry: whether a rebuild infers the geometry from the store's index files.
    """
    left = sorted(findings, key=lambda finding: _GRAVITY[finding.severity])
    causes: list[Cause] = []
    rules: list[Callable[[Sequence[Finding]], Cause | None]] = [
        _log_gone,
        _misconfigured,
        _strays,
        partial(_log_damaged, last_log=last_log),
        partial(_log_end, last_log=last_log),
        *([] if has_index else [_index_gone]),
        *([] if has_queues else [_queues_gone]),
        _queues_damaged,
        partial(_index_damaged, knows_geometry=knows_geometry),
    ]
    for rule in rules:
        cause = rule(left)
        if cause is not None:
            causes.append(cause)
            taken = set(map(id, (*cause.roots, *cause.consequences)))
            left = [finding for finding in left if id(finding) not in taken]
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in left:
        groups.setdefault((finding.code, finding.cure), []).append(finding)
    causes += [_alone(group) for group in groups.values()]
    return sorted(causes, key=lambda cause: _GRAVITY[cause.severity])


def _cause(
    left: Sequence[Finding],
    title: str,
    cure: str,
    *,
    roots: Iterable[Finding],
    follows: Callable[[Finding], bool] = lambda _: False,
    commands: Iterable[str] = (),
) -> Cause | None:
    first = tuple(roots)
    if not first:
        return None
    ids = set(map(id, first))
    rest = tuple(finding for finding in left if id(finding) not in ids and follows(finding))
    return Cause(title, first, rest, cure, tuple(commands))


def _log_gone(left: Sequence[Finding]) -> Cause | None:
    return _cause(
        left,
        "the commit log is gone: no message can be read, and nothing can be rebuilt without it",
        "copy the commit log from a replica or a backup",
        roots=(finding for finding in left if finding.code == "log.gap" and finding.file == "commitlog"),
        follows=lambda finding: finding.code.startswith(("queue.", "index.", "checkpoint.")),
        commands=("mkdir -p STORE/commitlog", "cp -R REPLICA/commitlog/. STORE/commitlog/"),
    )


def _is_stray(finding: Finding) -> bool:
    return finding.cure.startswith("move it away")


def _strays(left: Sequence[Finding]) -> Cause | None:
    found = [finding for finding in left if _is_stray(finding)]
    return _cause(
        left,
        "the store contains files that a broker does not expect",
        "move them away while the broker is stopped",
        roots=found,
        commands=(f"mv {_quoted(finding.file)} ." for finding in found),
    )


def _misconfigured(left: Sequence[Finding]) -> Cause | None:
    found = [finding for finding in left if finding.cure.startswith("set ") and "=" in finding.cure]
    return _cause(
        left,
        "the broker's configuration does not match the store's files",
        "give the broker the settings with which the files were written; of a name that is set twice the last one counts",
        roots=found,
        commands=(
            f"echo {setting} >> BROKER.CONF" for finding in found for setting in finding.cure.split()[1:]
        ),
    )


def _quoted(file: str, root: str = "STORE") -> str:
    """A file of the store or of its replica, quoted for a shell: its name comes from the store."""
    return f"{root}/{shell_word(file)}"


def _log_damaged(left: Sequence[Finding], *, last_log: str | None) -> Cause | None:
    """Without a replica a file that is damaged in its middle must be removed: a start would truncate the log there."""
    found = [finding for finding in left if finding.code in _LOG_DAMAGE]
    missing = any(_is_missing(finding) for finding in found)
    damaged = sorted({finding.file for finding in found if not _is_missing(finding)})
    commands = [f"cp {_quoted(file, 'REPLICA')} {_quoted(file)}" for file in damaged]
    if missing:
        commands.append(_MISSING_LOGS)
    cause = _cause(
        left,
        "part of the commit log is missing or damaged: these messages are lost unless a replica has them",
        "copy the files from a replica; without one, these messages cannot be restored",
        roots=found,
        follows=lambda finding: (
            finding.code in (*_DANGLING, "index.ahead_of_log", "checkpoint.ahead", "log.torn")
        ),
        commands=commands,
    )
    if cause is None:
        return None
    lengths = {finding.file: _wanted_length(finding) for finding in found}
    tail = lengths.get(last_log or "")
    away = [f"mv STORE/{file} ." for file in damaged if tail is None or file != last_log]
    longer = [] if tail is None else [f"truncate -s {tail} STORE/{last_log}"]
    parts = ["decode what is left of the damaged files"] if damaged else []
    parts += ["move them away, since a start would end the log there"] if away else []
    parts += ["fill the last file with zeros"] if longer else []
    parts += ["rebuild index and queues"] if last_log in damaged else []
    parts += [
        "leave the other files as they are: consumers and queries skip what is missing, which is lost for good"
    ]
    return replace(
        cause,
        otherwise=f"without a replica: {', '.join(parts)}",
        other_commands=(
            *([_DECODED_REST] if damaged else ()),
            *away,
            *longer,
            *(_ACCEPTED_LOSS if last_log in damaged else ()),
        ),
    )


def _is_missing(finding: Finding) -> bool:
    """Whether a file of the log is missing, and not only some of its bytes."""
    return finding.code == "log.gap" and finding.offset is None


def _wanted_length(finding: Finding) -> int | None:
    """The length that a log file of another length should have, from the words of `check_log_files`."""
    found = re.search(r"found a file of .* bytes, expected ([0-9,]+) as in", finding.message)
    return None if found is None else int(found[1].replace(",", ""))


def _log_end(left: Sequence[Finding], *, last_log: str | None) -> Cause | None:
    found = [finding for finding in left if finding.code == "index.ahead_of_log"]
    if not found and any(finding.code in _DANGLING for finding in left):
        found = [finding for finding in left if finding.code == "checkpoint.ahead"]
    cause = _cause(
        left,
        "the end of the commit log is missing: the index, the queues or the checkpoint refer to records after it",
        "copy the last files of commitlog/ from a replica",
        roots=found,
        follows=lambda finding: finding.code in (*_DANGLING, "checkpoint.ahead", "log.torn"),
        commands=(
            _MISSING_LOGS,
            *([] if last_log is None else [f"cp {_quoted(last_log, 'REPLICA')} {_quoted(last_log)}"]),
        ),
    )
    if cause is None:
        return None
    text = "without a replica: accept the loss, and replace index, queues and checkpoint"
    return replace(cause, otherwise=text, other_commands=_ACCEPTED_LOSS)


def _index_gone(left: Sequence[Finding]) -> Cause | None:
    return _cause(
        left,
        "there are no index files: queries by key find nothing",
        "rebuild the index files with the geometry of the broker's configuration",
        roots=(finding for finding in left if finding.code == "index.missing_key"),
        commands=(
            _REBUILT_WITH_CONF,
            "mkdir -p STORE/index",
            "cp -R rebuilt-index/index/. STORE/index/",
        ),
    )


def _queues_gone(left: Sequence[Finding]) -> Cause | None:
    found = [finding for finding in left if finding.code == "queue.missing_unit"]
    return _cause(
        left,
        "there are no consume queues: consumers get no message",
        "rebuild the consume queues with the file size of the broker's configuration",
        roots=found[:1],
        follows=lambda finding: finding.code == "queue.missing_unit",
        commands=(
            "rocketspec rebuild STORE -o rebuilt-queues --broker-conf BROKER.CONF",
            "mkdir -p STORE/consumequeue",
            "cp -R rebuilt-queues/consumequeue/. STORE/consumequeue/",
        ),
    )


def _queues_damaged(left: Sequence[Finding]) -> Cause | None:
    found = [
        finding
        for finding in left
        if finding.code.startswith("queue.")
        and finding.severity != "note"
        and "consume queues" in finding.cure
    ]
    sizes = [finding for finding in found if finding.code == "queue.size"]
    misplaced = sorted({finding.file for finding in found if _is_misplaced(finding)})
    return _cause(
        left,
        "",
        "rebuild the consume queues and put them in place while the broker is stopped",
        roots=sizes or found,
        follows=lambda finding: finding in found,
        commands=(*(_set_aside(file) for file in misplaced), *_REBUILT_QUEUES),
    )


def _is_misplaced(finding: Finding) -> bool:
    """Whether a queue file holds another queue's units, or another file's, from its first on: none may be written in its place."""
    return finding.code in ("queue.order", "queue.wrong_target") and finding.offset == 0


def _set_aside(file: str) -> str:
    """Moves a queue file away, into directories of the same names."""
    folder = shell_word(f"old/{file.rpartition('/')[0]}")
    return f"mkdir -p {folder} && mv {_quoted(file)} {folder}/"


def _index_damaged(left: Sequence[Finding], *, knows_geometry: bool) -> Cause | None:
    found = [
        finding
        for finding in left
        if finding.code.startswith("index.") and finding.severity != "note" and "rebuild" in finding.cure
    ]
    sizes = [finding for finding in found if finding.code == "index.size"]
    return _cause(
        left,
        "",
        "rebuild the index files and put them in place while the broker is stopped",
        roots=sizes or found,
        follows=lambda finding: finding in found or finding.code == "index.empty",
        commands=_REBUILT_INDEX if knows_geometry else (_REBUILT_WITH_CONF, *_REBUILT_INDEX[1:]),
    )


def _alone(group: Sequence[Finding]) -> Cause:
    """Findings of one code."""
    code = group[0].code
    commands: list[str] = []
    if code in ("checkpoint.ahead", "checkpoint.behind") and group[0].severity != "note":
        commands = ["mv STORE/checkpoint checkpoint.old"]
    elif code == "store.abort":
        commands = ["rocketspec audit STORE --restart"]
    elif code == "index.empty" and group[0].severity != "note":
        commands = [f"mv {_quoted(finding.file)} ." for finding in group]
    return Cause("", tuple(group), (), group[0].cure, tuple(commands))
