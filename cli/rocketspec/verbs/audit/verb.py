"""The verb `audit`: a store's files cross-checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rocketspec import _options as option
from rocketspec._options import StoreOptions, read_settings, warn
from rocketspec._terminal import note, progress, say_all

if TYPE_CHECKING:
    from rocket_columnar.facts import Store


def audit(
    store: Path | None = None,
    *,
    quick: bool = False,
    deep: bool = False,
    restart: bool = False,
    commitlog: list[str] | None = None,
    geometry: str | None = None,
    rocketmq_profile: str | None = None,
    broker_conf: Path | None = None,
    user: str | None = None,
    without: list[str] | None = None,
    gentle: bool = False,
    rate: float | None = None,
    max_findings: int = 50,
    report: Path | None = None,
    time_zone: str | None = None,
    prometheus: Path | None = None,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Cross-check index files, consume queues, commit log and checkpoint of a store.

    Findings are printed by cause, the worst first: place, what was found and expected, what it means, the number of
    findings that follow from it, and commands that cure it. The store of a running broker can be audited: entries that
    are only late, torn at the end of a file or repeated after a recovery are notes.

    Example: `rocketspec audit ~/store --deep --json`
    """
    level = option.audit_level(quick=quick, deep=deep)
    option.refuse({} if restart else {"--without": without}, "requires --restart")
    of_audit = {"--quick": quick, "--deep": deep, "--prometheus": prometheus, "--report": report}
    option.refuse(of_audit if restart else {}, "cannot be combined with --restart")

    from rocket_columnar.report import audit as engine
    from rocket_columnar.store import later_line

    from rocketspec.verbs.audit.view import print_causes, summary

    option.use_zone(time_zone)
    threads = option.be_gentle(gentle=gentle, rate=rate)
    settings = read_settings(store, commitlog, geometry, broker_conf)
    path, facts = settings.store, settings.open(rocketmq_profile, user)
    if restart:
        _restart(settings, facts, without or (), as_json=as_json)
        return
    if report is not None:
        from rocketspec.verbs.audit.report_page import check_directory, write_page

        check_directory(report, settings, force=force)
    if prometheus is not None:
        from rocketspec.verbs.audit.metrics import check_file, write_metrics

        check_file(prometheus, settings)
    with progress("auditing", unit="bytes") as step:
        found = engine(facts, level, threads=threads, options=settings.options, on_progress=step)
    counts = found.counts
    ending = [*(f"not checked: {part}" for part in found.unchecked), f"{path}: {summary(counts)}"]
    if prometheus is not None:
        write_metrics(prometheus, path, found)
    if report is not None:
        ending.append(f"page: {write_page(report, facts, found, level=level, summary=summary(counts))}")
    if found.signs:
        note(f"{path}: {later_line(found.signs)}")
    print_causes(found, as_json=as_json, most=max_findings)
    if not as_json:
        say_all(ending)
    if counts["error"] or counts["warning"]:
        raise typer.Exit(option.FINDINGS)


def _restart(settings: StoreOptions, whole: Store, without: Sequence[str], *, as_json: bool) -> None:
    from rocket_columnar.report import Shell, gone_with
    from rocket_columnar.restart import predicted

    from rocketspec.verbs.audit.view import show, show_gone, show_running

    store = whole.without(without) if without else whole
    differs = warn(settings, store)
    with progress("reading", unit="bytes") as step:
        found = predicted(store, on_progress=step)
    if isinstance(found, str):
        show_running(settings.store, found, as_json=as_json)
        raise typer.Exit(option.FINDINGS)
    usual, safe = found
    index_safe = settings.conf is not None and settings.conf.index_safe
    plan = safe if index_safe else usual
    gone = gone_with(whole, without, plan.dispatch_from)
    show_gone(gone, as_json=as_json)
    conf = None if settings.conf is None else settings.conf.path
    shell = Shell.of(settings.store, settings.options, conf)
    show(usual, safe, shell, as_json=as_json, index_safe=index_safe, indexing=store.index_enabled)
    if not plan.safe or differs or any(gone.values()):
        raise typer.Exit(option.FINDINGS)
