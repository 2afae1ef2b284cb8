"""Groups findings by cause: what went wrong first, what follows from it, and one cure that works in that state."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rocket_spec.layout import CHECKPOINT

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, Remedy, Severity
from rocket_columnar.report.configured import log_beside
from rocket_columnar.report.cures import Cures, Shell, end_files, has, is_missing

_GRAVITY: Final = {"error": 0, "warning": 1, "note": 2}
_DANGLING: Final = ("queue.dangling", "index.entry_dangling")

_LOG: Final = "commitlog"
"""What the finding on a log of which no file is left names."""

_SHORT: Final = ("index.ahead_of_log", "checkpoint.ahead", "queue.dangling")
"""Findings that show that the log was once longer."""

_LOG_DAMAGE: Final = ("log.gap", "log.magic", "log.length", "log.position", "log.crc")


_Roots = Callable[[Sequence[Finding], "Store | None"], list[Finding]]


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings with one cause.

    Attributes:
        title: what is wrong, for people; empty if the findings suffice.
        roots: the findings that show the cause, worst first; never empty.
        consequences: the findings that follow from it.
        cure: what to do about it, in words; empty if nothing is known.
        commands: the same as shell commands, to be run while the broker is stopped, one after the other. REPLICA stands for
            a copy of the store, such as a slave's; BROKER.CONF for the broker's configuration file, if it was not given, and RELEASE for
            that of a broker of 5.x.
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
        """The severity of the worst finding."""
        return self.roots[0].severity

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, each with the cure of this cause."""
        text = "; ".join(part for part in (self.cure, " ".join(self.commands)) if part)
        return tuple(replace(finding, cure=text) for finding in (*self.roots, *self.consequences))

    def counts(self) -> Counter[str]:
        """Number of consequences by code."""
        return Counter(finding.code for finding in self.consequences)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that finds one cause among the findings that no earlier rule took."""

    title: str
    cure: str
    roots: _Roots  # the findings that show the cause; without any it is not there
    # whether a finding follows from those that show it
    follows: Callable[[Finding, Sequence[Finding]], bool] = lambda _finding, _roots: False
    # those of the cure, for the findings that show the cause
    commands: Callable[[Cures, Sequence[Finding]], tuple[str, ...]] = lambda cures, _: cures.repaired()
    # what to do without a replica, and the commands for it
    otherwise: Callable[[Cures, Sequence[Finding]], tuple[str, tuple[str, ...]]] = lambda _cures, _: ("", ())

    def find(self, left: Sequence[Finding], store: Store | None, cures: Cures) -> FindingGroup | None:
        """The cause, if these findings show it."""
        roots = self.roots(left, store)
        if not roots:
            return None
        ids = set(map(id, roots))
        rest = tuple(one for one in left if id(one) not in ids and self.follows(one, roots))
        if not cures.may_cure(roots):
            return FindingGroup(self.title, tuple(roots), rest, "")
        commands = self.commands(cures, roots)
        return FindingGroup(
            self.title, tuple(roots), rest, self.cure, commands, *self.otherwise(cures, roots)
        )


def find_causes(
    findings: Iterable[Finding], shell: Shell, store: Store | None, remedies: Sequence[str] | None = None
) -> list[FindingGroup]:
    """The causes of an audit's findings, worst first; each finding is in exactly one.

    Without a store, which is elsewhere, only the findings are known; a cause has no cure whose remedy is not in `remedies`.
    """
    left = sorted(findings, key=lambda finding: _GRAVITY[finding.severity])
    cures = Cures(shell, store, remedies)
    causes: list[FindingGroup] = []
    for rule in _RULES:
        cause = rule.find(left, store, cures)
        if cause is not None:
            causes.append(cause)
            taken = set(map(id, (*cause.roots, *cause.consequences)))
            left = [finding for finding in left if id(finding) not in taken]
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in left:
        groups.setdefault((finding.code, finding.severity, finding.remedy), []).append(finding)
    for group in groups.values():
        curable = cures.may_cure(group)
        cure, commands = (group[0].cure, cures.alone(group)) if curable else ("", ())
        causes.append(FindingGroup("", tuple(group), (), cure, commands))
    return sorted(causes, key=lambda cause: _GRAVITY[cause.severity])


def _has(left: Iterable[Finding], *codes: str) -> bool:
    return any(finding.code in codes for finding in left)


def _coded(*codes: str) -> _Roots:
    return lambda left, _: [finding for finding in left if finding.code in codes]


def _beside(left: Iterable[Finding]) -> dict[str, str]:
    """Log files that are there under another name, packed or not, by the names they have; the name of each is free, or its file has another."""
    names = {one.file: one.own_name for one in left if one.own_name}
    free = {
        one.own_name for one in left if one.own_name and not one.foreign
    }  # of a foreign one, that may be taken
    free |= {one.file for one in left if is_missing(one)}
    while wrong := [file for file, name in names.items() if name not in {*free, *names}]:
        for file in wrong:
            del names[file]
    return names if len({*names.values()}) == len(names) else {}


def _log_beside(left: Sequence[Finding], _: Store | None) -> list[Finding]:
    """Also the findings that their files are missing, which may name another folder of the log."""
    beside = _beside(left)
    named = {*beside, *beside.values(), *([_LOG] if beside else [])}
    leaves = {name.rpartition("/")[2] for name in beside.values()}
    return [
        one
        for one in left
        if one.file in named or (is_missing(one) and one.file.rpartition("/")[2] in leaves)
    ]


def _whole_log(left: Sequence[Finding]) -> list[Finding]:
    """The finding on a log of which no file is left, neither under another name."""
    return [] if _beside(left) else [one for one in left if one.code == "log.gap" and one.file == _LOG]


def _follows_from_no_log(finding: Finding, _: Sequence[Finding]) -> bool:
    """Also what keeps a broker from starting with an empty log, which would delete all queues."""
    return finding.code.startswith(("queue.", "index.", "checkpoint.")) or (
        finding.part == "log" and finding.remedy == "aside"
    )


def _follows_from_foreign(finding: Finding, _: Sequence[Finding]) -> bool:
    """Whether a finding has to be checked again without the foreign file."""
    return finding.code == "log.clock" or (
        finding.severity != "note"
        and finding.code.startswith(("queue.", "index.", "checkpoint.", "log."))
        and not finding.code.endswith(".size")
    )


def _follows_from_link(finding: Finding, roots: Sequence[Finding]) -> bool:
    """Whether a finding has to be checked again with what links lead to."""
    parts = {root.part for root in roots}
    return ("log" in parts or finding.part in parts) and (
        is_missing(finding) or _follows_from_foreign(finding, roots)
    )


def _names_folders(roots: Sequence[Finding]) -> bool:
    """Whether the configuration lacks directories of the log: what is missing is to be looked at again with them."""
    folders = ("storePathCommitLog", "enableDLegerCommitLog")
    return any(name in folders for root in roots for name, _ in root.settings)


def _index_of_another_log(left: Sequence[Finding], store: Store | None) -> list[Finding]:
    """If the log lacked its end, units of queues or the checkpoint's times would be after it, too."""
    shown = has(store, "queue") or has(store, "checkpoint")
    short = not shown or _has(left, "queue.dangling", "checkpoint.ahead", "log.torn")
    return [] if short else _coded("index.ahead_of_log")(left, store)


def _follows_from_another_log(finding: Finding, roots: Sequence[Finding]) -> bool:
    """Also a checkpoint that is late for an index file."""
    if finding.code == "checkpoint.behind":
        return finding.offset == CHECKPOINT.offset_of("index_msg_timestamp")
    return finding.code.startswith("index.") and finding.file in {root.file for root in roots}


def _of_another_length(left: Sequence[Finding], _: Store | None) -> list[Finding]:
    """Log files that are longer or lack only zeros; the latter not where something shows that the log was once longer."""
    found = [one for one in left if one.remedy == "trim" and one.code.startswith("log.")]
    return [one for one in found if one.offset == one.length] if _has(left, *_SHORT) else found


def _log_end(left: Sequence[Finding], store: Store | None) -> list[Finding]:
    found = _coded("index.ahead_of_log")(left, store)
    return found or (_coded("checkpoint.ahead")(left, store) if _has(left, *_DANGLING) else [])


def _log_end_beside(left: Sequence[Finding], store: Store | None) -> list[Finding]:
    """Also a last file that was cut."""
    found = _log_end(left, store)
    if store is None or not found or not len(store.once(log_beside)):
        return []
    names = end_files(store)
    return [one for one in left if one.code in _LOG_DAMAGE and one.file in names] + found


_FROM_REPLICA: Final = "copy the last files of commitlog/ from a replica"


def _end_rule(word: str, records: str, roots: _Roots, cure: str = _FROM_REPLICA) -> _Rule:
    return _Rule(
        f"the end of the commit log is {word}: the index, the queues or the checkpoint refer to records {records}",
        cure,
        roots,
        lambda finding, _: (
            finding.code in (*_DANGLING, "checkpoint.ahead", "log.torn")
            or (finding.remedy == "aside" and bool(finding.length))
        ),
        lambda cures, _: cures.log_end(),
        lambda cures, _: (
            (
                "without a replica: accept the loss, and have index, queues and checkpoint repaired",
                cures.repair(),
            )
            if cure == _FROM_REPLICA
            else ("", ())
        ),
    )


def _leads_to_misplaced(finding: Finding, roots: Sequence[Finding]) -> bool:
    """Whether it only states that a record which states another offset is not found at its position."""
    places = {root.deviation.record for root in roots if root.deviation is not None}
    return finding.deviation is not None and finding.deviation.found in places


def _rebuild_rule(remedy: Remedy, files: str, also: str = "") -> _Rule:
    """Groups the findings that one rebuild cures; a file's wrong length explains the rest."""

    def curable(finding: Finding) -> bool:
        return finding.remedy == remedy and finding.severity != "note"

    def roots(left: Sequence[Finding], _: Store | None) -> list[Finding]:
        found = [finding for finding in left if curable(finding)]
        return [finding for finding in found if finding.code.endswith(".size")] or found

    cure = f"rebuild the {files} and put them in place while the broker is stopped"
    return _Rule("", cure, roots, lambda finding, _: curable(finding) or finding.code == also)


def _folder_rule(folder: str, remedy: Remedy, title: str, files: str) -> _Rule:
    """The findings that the one on a whole folder explains."""
    return _Rule(
        title,
        f"rebuild the {files} and put them in place while the broker is stopped",
        lambda left, _: [one for one in left if one.file == folder and one.remedy == remedy],
        lambda finding, _: finding.remedy == remedy,
    )


_RULES: Final = (
    _Rule(
        "a directory of the commit log is not mounted: its messages are not lost",
        "mount the disk at this directory before the start, and audit the store again",
        lambda left, _: [finding for finding in left if finding.remedy == "mount"],
        lambda finding, roots: is_missing(finding) or _follows_from_foreign(finding, roots),
        lambda _cures, _roots: (),
    ),
    _Rule(
        "links lead to nothing: what they led to is not mounted, or was moved or deleted",
        "mount or restore what they lead to before the start, and audit the store again",
        lambda left, _: [finding for finding in left if finding.remedy == "link"],
        _follows_from_link,
        lambda _cures, _roots: (),
        Cures.without_links,
    ),
    _Rule(
        "the commit log is in another folder: a broker makes an empty one, and deletes all queues",
        "move its files into the folder of the log, if the store's broker reads none elsewhere",
        lambda left, store: _whole_log(left) if store is not None and len(store.once(log_beside)) else [],
        _follows_from_no_log,
        lambda cures, _: cures.whole_log(),
    ),
    _Rule(
        "the commit log is gone: no message can be read, and nothing can be rebuilt without it",
        "copy the commit log from a replica or a backup",
        lambda left, _: _whole_log(left),
        _follows_from_no_log,
        lambda cures, _: cures.whole_log(),
    ),
    _Rule(
        "there are no index files: queries by key find nothing",
        "rebuild the index files with the geometry of the broker's configuration",
        lambda left, store: [] if has(store, "index") else _coded("index.missing_key")(left, store),
    ),
    _Rule(
        "there are no consume queues: consumers get no message",
        "rebuild the consume queues with the file size of the broker's configuration",
        lambda left, store: [] if has(store, "queue") else _coded("queue.missing_unit")(left, store)[:1],
        lambda finding, _: finding.code == "queue.missing_unit",
    ),
    _Rule(
        "the broker's configuration does not match the store's files",
        "give the broker the settings with which the files were written; of a name that is set twice the last one counts",
        lambda left, _: [finding for finding in left if finding.remedy == "settings"],
        lambda finding, roots: (
            _names_folders(roots)
            and (
                is_missing(finding)
                or _follows_from_foreign(finding, roots)
                or finding.file in {root.file for root in roots}
            )
        ),
        Cures.settings,
    ),
    _Rule(
        "",
        "copy the files from a replica or a backup while the broker is down",
        lambda left, _: [one for one in left if one.remedy == "config" and one.severity == "error"],
        commands=Cures.config_files,
        otherwise=Cures.without_config,
    ),
    _Rule(
        "files of the commit log have names that are not their own: a broker lacks their messages",
        "give them their names back",
        _log_beside,
        lambda finding, roots: (
            finding.code in (*_SHORT, *_DANGLING, "consumer.offset_below_minimum")
            or (any(root.foreign for root in roots) and _follows_from_foreign(finding, roots))
        ),
        lambda cures, roots: cures.named_back(_beside(roots)),
    ),
    _Rule(
        "log files after the log's end are empty: no message is lost, but a broker refuses to start",
        "move them away while the broker is stopped: the broker makes the next file itself",
        lambda left, _: [
            one for one in left if one.remedy == "aside" and one.length and not _has(left, *_SHORT)
        ],
    ),
    _Rule(
        "log files have another length than the others: no message is lost, but a broker refuses to start",
        "give them the length of the others while the broker is stopped",
        _of_another_length,
        commands=Cures.trimmed,
    ),
    _Rule(
        "ext files have another length than the others: no message is lost, but a broker that uses them refuses to start",
        "give them the length of the others while the broker is stopped; where one was cut, consumers that filter by SQL may get "
        "messages that they do not want",
        lambda left, _: [one for one in left if one.remedy == "trim" and one.code == "queue.size"],
        commands=Cures.trimmed,
    ),
    _Rule(
        "the store contains files that a broker does not expect",
        "move them away while the broker is stopped",
        lambda left, _: [
            one
            for one in left
            if one.remedy == "aside" and one.code not in ("index.empty", "queue.empty") and not one.length
        ],
    ),
    _Rule(
        "log files are in two folders of the log: a broker maps both",
        "move one of the two away while the broker is stopped",
        lambda left, _: [one for one in left if one.remedy == "twice"],
        commands=Cures.second,
    ),
    _Rule(
        "log files are not this store's own: what belongs in their place is missing",
        "copy the files from a replica, and audit the store again",
        lambda left, _: [one for one in left if one.foreign and one.code.startswith("log.")],
        _follows_from_foreign,
        Cures.log_files,
        Cures.damaged_log,
    ),
    _Rule(
        "records of the commit log state other physical offsets than their positions: their messages are not lost",
        "set the offsets back while the broker is stopped",
        lambda left, _: [one for one in left if one.remedy == "position"],
        _leads_to_misplaced,
        Cures.set_back,
    ),
    _end_rule(
        "in another folder",
        "after the end of what is here",
        _log_end_beside,
        "copy the last files of the commit log from that folder, which has the same bytes up to there, and goes on",
    ),
    _Rule(
        "part of the commit log is missing or damaged: these messages are lost unless a replica has them",
        "copy the files from a replica; without one, these messages cannot be restored",
        lambda left, _: [one for one in left if one.code in _LOG_DAMAGE and one.severity != "note"],
        lambda finding, _: finding.code in (*_SHORT, *_DANGLING, "log.torn", "consumer.offset_below_minimum"),
        Cures.log_files,
        Cures.damaged_log,
    ),
    _Rule(
        "the clock jumped while messages were stored: times and names of files are not in the order of the log",
        "rebuild the index files and put them in place while the broker is stopped",
        lambda left, store: (
            _coded("log.clock", "index.name_order", "checkpoint.behind")(left, store)
            if _has(left, "log.clock") and _has(left, "index.name_order")
            else []
        ),
    ),
    _Rule(
        "index files refer to records after the log's end, where no queue has a message: they are damaged, or another store's",
        "rebuild the index files and put them in place while the broker is stopped",
        _index_of_another_log,
        _follows_from_another_log,
    ),
    _end_rule(
        "torn",
        "that were not written whole",
        lambda left, store: _log_end(left, store) if _has(left, "log.torn") else [],
    ),
    _end_rule("missing", "after it", _log_end),
    _folder_rule(
        "consumequeue",
        "queues",
        "the consume queues are another store's, or older: consumers get none of the log's messages",
        "consume queues",
    ),
    _folder_rule("consumequeue_ext", "queues", "the ext files are missing", "consume queues"),
    _folder_rule(
        "index", "index", "the index files are another store's: queries find no key of the log", "index files"
    ),
    _rebuild_rule("queues", "consume queues", also="queue.empty"),
    _rebuild_rule("index", "index files", also="index.empty"),
)
