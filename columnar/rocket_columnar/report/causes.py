"""Groups findings by cause: what went wrong first, what follows from it, and one cure that works in that state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rocket_spec.layout import CHECKPOINT

from rocket_columnar.findings import Finding, Remedy, Severity
from rocket_columnar.report.cures import Cures, Facts, is_missing
from rocket_columnar.report.shell import Shell

_GRAVITY: Final = {"error": 0, "warning": 1, "note": 2}
_DANGLING: Final = ("queue.dangling", "index.entry_dangling")
_SHORT: Final = ("index.ahead_of_log", "checkpoint.ahead", "queue.dangling")
"""What shows that the log once went further."""
_LOG_DAMAGE: Final = ("log.gap", "log.magic", "log.length", "log.position", "log.crc")


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings with one cause.

    Attributes:
        title: what is wrong, for people; empty if the findings suffice.
        roots: the findings that show the cause, worst first; never empty.
        consequences: the findings that follow from it.
        cure: what to do about it, in words; empty if nothing is known.
        commands: the same as shell commands, to be run while the broker is stopped, one after the other. REPLICA stands for
            a copy of the store, such as a slave's; BROKER.CONF for the broker's configuration file, if it was not given.
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
        text = "; ".join(part for part in (self.cure, " ".join(self.commands)) if part)
        return tuple(replace(finding, cure=text) for finding in (*self.roots, *self.consequences))

    def counts(self) -> Counter[str]:
        """Number of consequences by code."""
        return Counter(finding.code for finding in self.consequences)

    def without_cure(self) -> Cause:
        """The findings and what follows from them alone."""
        return Cause(self.title, self.roots, self.consequences, "")


def find_causes(findings: Iterable[Finding], shell: Shell, facts: Facts) -> list[Cause]:
    """The causes of an audit's findings, worst first; each finding is in exactly one.

    Args:
        findings: those of one store.
        shell: builds the commands.
        facts: of the store.
    """
    left = sorted(findings, key=lambda finding: _GRAVITY[finding.severity])
    cures = Cures(shell, facts)
    causes: list[Cause] = []
    rules: list[Callable[[Sequence[Finding], Cures], Cause | None]] = [
        _log_gone,
        _misconfigured,
        _log_beside,
        _log_empty,
        _strays,
        _log_foreign,
        _log_damaged,
        _clock_jumped,
        _index_of_another_log,
        _log_end,
        *([] if facts.has_index else [_index_gone]),
        *([] if facts.has_queues else [_queues_gone]),
        _queues_damaged,
        _index_damaged,
    ]
    for rule in rules:
        cause = rule(left, cures)
        if cause is not None:
            causes.append(cause)
            taken = set(map(id, (*cause.roots, *cause.consequences)))
            left = [finding for finding in left if id(finding) not in taken]
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in left:
        groups.setdefault((finding.code, finding.severity, finding.remedy), []).append(finding)
    causes += [Cause("", tuple(group), (), group[0].cure, cures.alone(group)) for group in groups.values()]
    return sorted(causes, key=lambda cause: _GRAVITY[cause.severity])


def _cause(
    left: Sequence[Finding],
    title: str,
    cure: str,
    *,
    roots: Iterable[Finding],
    follows: Callable[[Finding], bool] = lambda _: False,
    commands: Callable[[], tuple[str, ...]],
) -> Cause | None:
    first = tuple(roots)
    if not first:
        return None
    ids = set(map(id, first))
    rest = tuple(finding for finding in left if id(finding) not in ids and follows(finding))
    return Cause(title, first, rest, cure, commands())


def _log_gone(left: Sequence[Finding], cures: Cures) -> Cause | None:
    return _cause(
        left,
        "the commit log is gone: no message can be read, and nothing can be rebuilt without it",
        "copy the commit log from a replica or a backup",
        roots=(finding for finding in left if finding.code == "log.gap" and finding.file == "commitlog"),
        follows=lambda finding: finding.code.startswith(("queue.", "index.", "checkpoint.")),
        commands=cures.whole_log,
    )


def _misconfigured(left: Sequence[Finding], cures: Cures) -> Cause | None:
    found = [finding for finding in left if finding.remedy == "settings"]
    return _cause(
        left,
        "the broker's configuration does not match the store's files",
        "give the broker the settings with which the files were written; of a name that is set twice the last one counts",
        roots=found,
        commands=lambda: cures.settings(found),
    )


def _log_beside(left: Sequence[Finding], cures: Cures) -> Cause | None:
    """Missing log files that are there under another name, packed or not."""
    missing = {finding.file for finding in left if is_missing(finding)}
    beside = {
        finding.file: finding.file.rpartition(".")[0]
        for finding in left
        if finding.remedy == "aside" and finding.file.rpartition(".")[0] in missing
    }
    return _cause(
        left,
        "files of the commit log have other names: a broker refuses to start, and lacks their messages",
        "give them their names back",
        roots=(finding for finding in left if finding.file in {*beside, *beside.values()}),
        follows=lambda finding: finding.code in _DANGLING,
        commands=lambda: cures.named_back(beside),
    )


def _log_empty(left: Sequence[Finding], cures: Cures) -> Cause | None:
    if any(finding.code in _SHORT for finding in left):
        return None
    found = [finding for finding in left if finding.remedy == "aside" and finding.length]
    return _cause(
        left,
        "log files after the log's end are empty: no message is lost, but a broker refuses to start",
        "move them away while the broker is stopped: the broker makes the next file itself",
        roots=found,
        commands=cures.repaired,
    )


def _strays(left: Sequence[Finding], cures: Cures) -> Cause | None:
    found = [
        finding
        for finding in left
        if finding.remedy == "aside" and finding.code != "index.empty" and not finding.length
    ]
    return _cause(
        left,
        "the store contains files that a broker does not expect",
        "move them away while the broker is stopped",
        roots=found,
        commands=cures.repaired,
    )


def _log_foreign(left: Sequence[Finding], cures: Cures) -> Cause | None:
    """What is found in queues and index files follows from it, and is to be looked at again without the file."""
    found = [finding for finding in left if finding.foreign]
    cause = _cause(
        left,
        "log files are not this store's own: what belongs in their place is missing",
        "copy the files from a replica, and audit the store again",
        roots=found,
        follows=lambda finding: (
            (
                finding.severity != "note"
                and finding.code.startswith(("queue.", "index.", "checkpoint.", "log."))
                and not finding.code.endswith(".size")
            )
            or finding.code == "log.clock"
        ),
        commands=lambda: cures.log_files(found),
    )
    return cause and _or_without(cause, cures.damaged_log(found))


def _or_without(cause: Cause, without: tuple[str, tuple[str, ...]]) -> Cause:
    """The same with what to do if there is no replica."""
    return replace(cause, otherwise=without[0], other_commands=without[1])


def _log_damaged(left: Sequence[Finding], cures: Cures) -> Cause | None:
    """Without a replica nothing is moved or cut unless a start then keeps more."""
    found = [finding for finding in left if finding.code in _LOG_DAMAGE]
    cause = _cause(
        left,
        "part of the commit log is missing or damaged: these messages are lost unless a replica has them",
        "copy the files from a replica; without one, these messages cannot be restored",
        roots=found,
        follows=lambda finding: (
            finding.code in (*_DANGLING, "index.ahead_of_log", "checkpoint.ahead", "log.torn")
        ),
        commands=lambda: cures.log_files(found),
    )
    return cause and _or_without(cause, cures.damaged_log(found))


def _clock_jumped(left: Sequence[Finding], cures: Cures) -> Cause | None:
    codes = ("log.clock", "index.name_order", "checkpoint.behind")
    if {finding.code for finding in left}.issuperset(("log.clock", "index.name_order")):
        return _cause(
            left,
            "the clock jumped while messages were stored: times and names of files are not in the order of the log",
            "rebuild the index files and put them in place while the broker is stopped",
            roots=(finding for finding in left if finding.code in codes),
            commands=cures.repaired,
        )
    return None


def _index_of_another_log(left: Sequence[Finding], cures: Cures) -> Cause | None:
    """If the log lacked its end, units of queues or the checkpoint's times would be after it, too."""
    short = any(finding.code in ("queue.dangling", "checkpoint.ahead", "log.torn") for finding in left)
    found = [finding for finding in left if finding.code == "index.ahead_of_log"]
    names = {finding.file for finding in found}
    if short or not cures.knows_log_end:
        return None
    return _cause(
        left,
        "index files refer to records after the log's end, where no queue has a message: they are damaged, or another store's",
        "rebuild the index files and put them in place while the broker is stopped",
        roots=found,
        follows=lambda finding: (
            (finding.code.startswith("index.") and finding.file in names) or _is_of_index_time(finding)
        ),
        commands=cures.repaired,
    )


def _is_of_index_time(finding: Finding) -> bool:
    """Whether the checkpoint is said to be late for an index file."""
    return finding.code == "checkpoint.behind" and finding.offset == CHECKPOINT.offset_of(
        "index_msg_timestamp"
    )


def _log_end(left: Sequence[Finding], cures: Cures) -> Cause | None:
    found = [finding for finding in left if finding.code == "index.ahead_of_log"]
    if not found and any(finding.code in _DANGLING for finding in left):
        found = [finding for finding in left if finding.code == "checkpoint.ahead"]
    torn = any(finding.code == "log.torn" for finding in left)
    cause = _cause(
        left,
        f"the end of the commit log is {'torn' if torn else 'missing'}: the index, the queues or the checkpoint refer to records "
        f"{'that were not written whole' if torn else 'after it'}",
        "copy the last files of commitlog/ from a replica",
        roots=found,
        follows=lambda finding: (
            finding.code in (*_DANGLING, "checkpoint.ahead", "log.torn")
            or (finding.remedy == "aside" and bool(finding.length))
        ),
        commands=cures.log_end,
    )
    text = "without a replica: accept the loss, and have index, queues and checkpoint repaired"
    return cause and _or_without(cause, (text, cures.repair()))


def _index_gone(left: Sequence[Finding], cures: Cures) -> Cause | None:
    return _cause(
        left,
        "there are no index files: queries by key find nothing",
        "rebuild the index files with the geometry of the broker's configuration",
        roots=(finding for finding in left if finding.code == "index.missing_key"),
        commands=cures.repaired,
    )


def _queues_gone(left: Sequence[Finding], cures: Cures) -> Cause | None:
    found = [finding for finding in left if finding.code == "queue.missing_unit"]
    return _cause(
        left,
        "there are no consume queues: consumers get no message",
        "rebuild the consume queues with the file size of the broker's configuration",
        roots=found[:1],
        follows=lambda finding: finding.code == "queue.missing_unit",
        commands=cures.repaired,
    )


def _queues_damaged(left: Sequence[Finding], cures: Cures) -> Cause | None:
    text = "rebuild the consume queues and put them in place while the broker is stopped"
    return _damaged(left, "queues", text, cures)


def _index_damaged(left: Sequence[Finding], cures: Cures) -> Cause | None:
    text = "rebuild the index files and put them in place while the broker is stopped"
    return _damaged(left, "index", text, cures, also="index.empty")


def _damaged(
    left: Sequence[Finding],
    remedy: Remedy,
    cure: str,
    cures: Cures,
    *,
    also: str = "",
) -> Cause | None:
    """What one rebuild cures; a file's wrong length explains the rest."""
    found = [finding for finding in left if finding.remedy == remedy and finding.severity != "note"]
    sizes = [finding for finding in found if finding.code.endswith(".size")]
    return _cause(
        left,
        "",
        cure,
        roots=sizes or found,
        follows=lambda finding: finding in found or finding.code == also,
        commands=cures.repaired,
    )
