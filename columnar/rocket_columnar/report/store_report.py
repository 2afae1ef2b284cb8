"""The report on a store: the findings of an audit by cause, each cause with a cure."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError

from rocket_columnar.audit import Level
from rocket_columnar.audit import audit as engine
from rocket_columnar.consumers import HALF, config_findings, unsure_offsets
from rocket_columnar.facts import Store, as_store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.report.causes import FindingGroup, find_causes
from rocket_columnar.report.configured import mismatches
from rocket_columnar.report.cures import REPAIRED_LATER, Shell
from rocket_columnar.restart import entry_index_fault, refused_by_log, restarts
from rocket_columnar.store import (
    Sign,
    despite_unreadable,
    files_kept_open,
    links_in,
    read_broker_conf,
    while_listed,
)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The findings of an audit of a store; iterating gives them, the worst first.

    Attributes:
        causes: the findings by cause, worst first.
        unchecked: what was not checked, for people.
        signs: that 5.x wrote to the store; then only index files and queues have a cure, and nothing if a file cannot be read.
    """

    causes: tuple[FindingGroup, ...]
    unchecked: tuple[str, ...] = ()
    signs: tuple[Sign, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, each with the cure of its cause."""
        return tuple(chain.from_iterable(cause.findings for cause in self.causes))

    @property
    def counts(self) -> Counter[str]:
        """Number of findings by severity."""
        return Counter(finding.severity for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)


def audit(
    store: Store | Path | str,
    level: Level = "default",
    *,
    threads: int | None = None,
    options: Sequence[str] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    **known: Any,
) -> AuditReport:
    """The report on a store; it has no findings for a healthy one.

    Args:
        store: the store, or its directory.
        level: how much is checked, as for `rocket_columnar.audit.audit`.
        threads: number of threads; by default the number of processors, at most 4.
        options: of the verbs in the cures' commands; by default those that name what is known.
        on_progress: called with the bytes of files that were read, and those of all; not at the level "quick".
        known: of a directory, as for `Store`; a configuration may be a path.

    Raises:
        UsageError: an unknown level, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    conf = known.get("conf")
    if isinstance(conf, str | Path):
        known["conf"] = read_broker_conf(Path(conf))
    store = as_store(store, **known)

    def known_signs(found: Iterable[Sign]) -> None:
        signs[:] = found

    def look() -> list[Finding]:
        return list(engine(store, level, threads=threads, on_progress=on_progress, on_signs=known_signs))

    signs: list[Sign] = []
    with nullcontext() if store.live else files_kept_open():
        found, conf = store.looked_at(look), store.conf
        if conf is not None:
            settled = {name for one in found for name, _ in one.settings}
            others = (one for one in mismatches(store, conf) if settled.isdisjoint(dict(one.settings)))
            found = [*others, *found]
        if not (signs or store.live or level == "quick"):
            found = _refused(store, found)
        halves = not signs and _is_whole(found) and level != "quick"
        found += while_listed(lambda: list(config_findings(store, halves=halves)))
        other = store.refusal
        if other is not None:
            found.append(finding("store.refused", other.file, None, other.reason, cure=other.cure))
        found += while_listed(lambda: _entry_index(store))
        found = while_listed(lambda: _with_made(store, found))
        named = {one.file for one in found}
        links = () if store.path is None else links_in(store.path)
        found += (_linked(name) for name in links if name not in named)
        options = _options(store) if options is None else options
        shell = Shell.of(store.path or "STORE", options, None if conf is None else conf.path)
        unchecked = [_UNCHECKED[level]]
        unchecked += [_UNSURE] if unsure_offsets(store) else []
        unchecked += [_HALVES] if not halves and level != "quick" and HALF in store.has_queue else []
        report = despite_unreadable(lambda: report_on(found, shell, store, signs))
    return replace(report, unchecked=tuple(filter(None, unchecked)))


_UNCHECKED: Final = {
    "quick": "the content of the files: records, units and entries (audit without --quick)",
    "default": "the bodies of the messages, and that queries reach each key (--deep)",
    "deep": "",
}
_UNSURE: Final = "whether offsets of groups are beyond their queues, as the log has gaps"
_HALVES: Final = "half messages that nobody resolves, as files of queues or of the log are damaged"


def _refused(store: Store, found: list[Finding]) -> list[Finding]:
    """The findings, of which the first on the damaged log states why no start comes to its end, if none does."""
    damage = next((one for one in found if one.code.startswith("log.") and one.severity != "note"), None)
    if damage is None:
        return found
    try:
        refused = refused_by_log(store)
    except (UsageError, OSError):
        return found
    text = f"{damage.message}; the broker does not start: {refused}"
    return (
        found if refused is None else [replace(one, message=text) if one is damage else one for one in found]
    )


def _entry_index(store: Store) -> list[Finding]:
    """The findings on DLedger's own index of entries, with which it does not start; it makes a new one from its log."""
    fault = entry_index_fault(store) if store.framed else None
    if fault is None:
        return []
    text = f"the broker does not start: {fault[0]}"
    cure = "move the file away while the broker is down: DLedger makes its index again from its log"
    return [
        finding("store.refused", name, None, text, clause="DLG-19", cure=cure, remedy="aside")
        for name in fault[1]
    ]


def _with_made(store: Store, found: list[Finding]) -> list[Finding]:
    """The findings, with one on each topic that the next start makes queues of, and that is not listed: it was not deleted."""
    if store.live or store.signs or not any(map(_may_be_made, found)):
        return found
    try:
        made = restarts(store)[0].made
    except (UsageError, OSError):
        return found
    text = "has messages that the next start dispatches, and is not in the list of topics"
    folders = {f"consumequeue/{topic}" for topic in made}
    left = [one for one in found if not (_may_be_made(one) and one.file in folders)]
    missing = (
        finding("topic.missing", "config/topics.json", None, f"topic {topic} {text}") for topic in made
    )
    return [*left, *missing]


def _may_be_made(found: Finding) -> bool:
    """Whether it states that records are not dispatched, or that a topic was deleted, as if queues and list were of today."""
    return found.code == "store.lag" or (found.code == "queue.missing_unit" and found.severity == "note")


def _linked(name: str) -> Finding:
    """The finding on a symbolic link in a store."""
    text = "a symbolic link: it was followed, but a repair follows none"
    cure = (
        "none needed to read the store; for a repair, move what it leads to into the store, or mount it there"
    )
    if name == "commitlog":
        text = "a symbolic link: it was followed, and a repair reads the log through it"
        cure = "none needed; files that do not belong in the log have to be moved away by hand"
    return finding("store.unreadable", name, None, text, severity="note", cure=cure)


def _is_whole(found: Sequence[Finding]) -> bool:
    """Whether nothing is wrong with the queues or with the log."""
    return not any(
        finding.severity != "note" and finding.code.startswith(("log.", "queue.", "store.unreadable"))
        for finding in found
    )


def report_on(
    findings: Iterable[Finding], shell: Shell, store: Store | None, signs: Iterable[Sign] = ()
) -> AuditReport:
    """The report on a store's findings; without a store, which is elsewhere, no cause has a cure.

    `shell` builds the cures' commands; `signs` are those that 5.x wrote to the store.
    """
    found, known = list(findings), tuple(signs)
    blind = store is None or any(one.code == "store.unreadable" and one.severity != "note" for one in found)
    cured = () if blind else REPAIRED_LATER if known else None
    causes = find_causes(found, shell, store, cured) if found else []
    return AuditReport(tuple(causes), (), known)


def _options(store: Store) -> list[str]:
    options = [word for folder in store.commitlog for word in ("--commitlog", os.path.abspath(folder))]
    geometry, conf = store.given_geometry, store.conf
    options += [] if geometry is None else ["--geometry", f"{geometry.hash_slot_num},{geometry.index_num}"]
    return options + ([] if conf is None else ["--broker-conf", os.path.abspath(conf.path)])
