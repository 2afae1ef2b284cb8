"""The report on a store: the findings of an audit by cause, each cause with a cure."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from rocket_spec.layout import Geometry

from rocket_columnar.audit import Level, make_plan
from rocket_columnar.audit import audit as engine
from rocket_columnar.consumers import config_findings
from rocket_columnar.findings import Finding
from rocket_columnar.report.causes import Cause, find_causes
from rocket_columnar.report.configured import infers_geometry, mismatches, sized_files
from rocket_columnar.report.cures import Facts
from rocket_columnar.report.log_choices import LogChoices
from rocket_columnar.report.shell import Shell
from rocket_columnar.store import BrokerConf, Sign, despite_unreadable, read_broker_conf, while_listed


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit of a store found; iterating gives its findings, the worst first.

    Attributes:
        causes: the findings by cause, worst first.
        unchecked: what was not checked, for people.
        signs: that 5.x wrote to the store; then no cause has a cure, nor if a file cannot be read.
    """

    causes: tuple[Cause, ...]
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
    store: Path | str,
    level: Level = "default",
    *,
    geometry: Geometry | None = None,
    threads: int | None = None,
    commitlog: Sequence[Path | str] = (),
    broker_conf: BrokerConf | Path | str | None = None,
    options: Sequence[str] | None = None,
    release: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """The report on a store; it has no findings for a healthy one.

    Args:
        store: the directory of a store.
        level: how much is checked, as for `rocket_columnar.audit.audit`.
        geometry: of the index files; by default inferred.
        threads: number of threads; by default the number of processors, at most 4.
        commitlog: further directories of the commit log, as for `find_files`.
        broker_conf: the configuration of the broker, with which the files are compared.
        options: of the verbs in the cures' commands; by default those that name the values above.
        release: that wrote the store; by default 4.9.3, or 5.x as the files show.
        on_progress: called with the bytes of files that were read, and those of all; not at the level "quick".

    Raises:
        UsageError: an unknown level, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    path = Path(store)
    folders = tuple(map(Path, commitlog))
    conf = read_broker_conf(Path(broker_conf)) if isinstance(broker_conf, str | Path) else broker_conf
    signs: list[Sign] = []

    def look() -> list[Finding]:
        signs.clear()
        checked = engine(
            path,
            level,
            geometry=geometry,
            threads=threads,
            commitlog=folders,
            release=release,
            on_progress=on_progress,
            on_signs=signs.extend,
        )
        return list(checked)

    found = despite_unreadable(lambda: while_listed(look))
    if conf is not None:
        if not conf.index_enabled:
            found = [finding for finding in found if finding.code != "index.missing_key"]
        found = [*mismatches(path, conf, commitlog=folders, geometry=geometry), *found]
    found += while_listed(
        lambda: _of_configuration(path, folders, level, whole=not signs and _is_whole(found))
    )
    if options is None:
        options = _options(geometry, folders, conf)
    shell = Shell.of(path, options, None if conf is None else conf.path)
    unchecked = {
        "quick": "the content of the files: records, units and entries (audit without --quick)",
        "default": "the bodies of the messages, and that queries reach each key (--deep)",
        "deep": "",
    }[level]
    facts = partial(_facts, path, folders, geometry)
    report = report_on(found, shell, lambda: despite_unreadable(facts), signs)
    return replace(report, unchecked=(unchecked,) if unchecked else ())


def _is_whole(found: Sequence[Finding]) -> bool:
    """Whether the ends of the queues are those that a broker has: nothing is wrong with them or with the log."""
    return not any(
        finding.severity != "note" and finding.code.startswith(("log.", "queue.", "store.unreadable"))
        for finding in found
    )


def _of_configuration(store: Path, commitlog: Sequence[Path], level: Level, *, whole: bool) -> list[Finding]:
    """The findings on `config/`; of a store that is not whole only those on the files by themselves."""
    return list(config_findings(store, commitlog=commitlog, queues=whole, halves=whole and level != "quick"))


def report_on(
    findings: Iterable[Finding], shell: Shell, facts: Callable[[], Facts], signs: Iterable[Sign] = ()
) -> Report:
    """The report on a store's findings; `facts` is only called if there are any.

    Args:
        findings: those of one store.
        shell: builds the cures' commands.
        facts: reads what cures depend on.
        signs: that 5.x wrote to the store.
    """
    found, known = list(findings), tuple(signs)
    causes = find_causes(found, shell, Facts() if known else facts()) if found else []
    blind = known or any(finding.code == "store.unreadable" for finding in found)
    return Report(tuple(cause.without_cure() if blind else cause for cause in causes), (), known)


def _options(geometry: Geometry | None, commitlog: Sequence[Path], conf: BrokerConf | None) -> list[str]:
    options = [word for folder in commitlog for word in ("--commitlog", os.path.abspath(folder))]  # noqa: PTH100
    options += [] if geometry is None else ["--geometry", f"{geometry.hash_slot_num},{geometry.index_num}"]
    return options + ([] if conf is None else ["--broker-conf", os.path.abspath(conf.path)])  # noqa: PTH100


def _facts(store: Path, commitlog: Sequence[Path], geometry: Geometry | None) -> Facts:
    """What cures depend on, read again: a broker may be running, and files may be gone."""
    plan = make_plan(store, "quick", geometry=geometry, commitlog=commitlog)
    full = sum(file.base_offset < plan.end for file in plan.logs[1:])
    return Facts(
        has_index=bool(plan.indexes),
        has_queues=bool(plan.queues),
        has_checkpoint=bool(plan.checkpoints),
        knows_geometry=geometry is not None or infers_geometry(store),
        end_files=tuple(file.name for file in plan.logs[full:]),
        framed=any(file.framed for file, _ in sized_files(store, "log", commitlog)),
        choices=partial(LogChoices.of, plan),
    )
