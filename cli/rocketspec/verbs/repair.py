"""The verb `repair`: the cures of an audit, done in place, checked, and undone on request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rocket_spec.errors import UsageError
from rocket_spec.printable import counted, printable

from rocketspec import _options as option
from rocketspec._options import read_settings
from rocketspec._terminal import progress, say

if TYPE_CHECKING:
    from rocket_columnar.repair import Outlook, Repaired, RepairPlan
    from rocket_columnar.report import Shell


def repair(
    store: Path | None = None,
    *,
    plan: bool = False,
    apply: bool = False,
    undo: bool = False,
    commitlog: list[str] | None = None,
    geometry: str | None = None,
    rocketmq_profile: str | None = None,
    broker_conf: Path | None = None,
    offsets: str | None = None,
) -> None:
    """Repair the index files, consume queues, topics and consumer offsets of a store. This is the only verb that writes to one.

    It refuses while a broker runs. New files are built in a folder in the store, STORE/rocketspec-repair-TIME; the files that they
    replace are moved there, and so are files that do not belong to a store. The commit log is not changed. Afterwards the
    store is audited and a start is predicted: if anything is worse than before, everything is reverted.

    Example: `rocketspec repair ~/store --plan`
    """
    if plan + apply + undo != 1:
        raise UsageError("give one of --plan, --apply and --undo")

    from rocket_columnar import repair as engine
    from rocket_columnar.report import Shell

    settings = read_settings(store, commitlog, geometry, broker_conf)
    if offsets not in (None, "end"):
        Path(offsets).stat()  # it is read only if an offset needs it
    target = engine.Target(
        settings.store,
        settings.commitlog,
        settings.geometry,
        settings.conf,
        rocketmq_profile,
        None if offsets in (None, "end") else Path(offsets),
        to_end=offsets == "end",
    )
    shell = Shell.of(settings.store, settings.options)
    if undo:
        say(f"{settings.store}: {engine.undo(settings.store)} is undone, and removed")
        return
    if plan:
        with progress("auditing"):
            found = engine.plan_repair(target)
        _show_plan(found, shell)
        if found.left or not found.empty:
            raise typer.Exit(option.FINDINGS)
        return
    with progress("repairing"):
        done = engine.repair(target)
    _show_done(done, shell)
    if done.worse or done.after.found:
        raise typer.Exit(option.FINDINGS)


def _show_plan(plan: RepairPlan, shell: Shell) -> None:
    for name in plan.into:
        say(f"{'replace' if name in plan.away else 'add'} {printable(name)}")
    for name in plan.away:
        if name not in plan.into:
            say(f"move {printable(name)} away")
    for topic, number in plan.topics.items():
        say(f"list topic {printable(topic)} with {counted(number, 'queue')} in config/topics.json")
    for one in plan.offsets:
        place = f"{printable(one.topic)} queue {one.queue_id}"
        say(f"set the offset of group {printable(one.group)} in {place} from {one.offset:,} to {one.end:,}")
    for finding in plan.left:
        say(f"not cured by a repair: {finding.code} {finding.file}: {finding.message}")
    say(f"now: {_outlook(plan.outlook)}")
    if plan.empty:
        say("there is nothing to repair")
    else:
        say(f"to repair: {shell.verb('repair', '--apply')}")


def _show_done(done: Repaired, shell: Shell) -> None:
    say(f"before: {_outlook(done.plan.outlook)}")
    say(f"after: {_outlook(done.after)}")
    if done.worse:
        say(f"everything was taken back: {done.worse}")
    elif done.folder:
        into, away = (counted(len(names), "file") for names in (done.plan.into, done.plan.away))
        say(f"put in place: {into}; moved away: {away}, to {shell.file(done.folder)}")
        say(f"to undo this: {shell.line('rocketspec', 'repair', shell.store, '--undo')}")
    else:
        say("there was nothing to repair")


def _outlook(outlook: Outlook) -> str:
    kept = "no broker starts" if outlook.refused else f"a start keeps {counted(outlook.messages, 'message')}"
    kept = kept if outlook.predicted else "a start is not predicted"
    return f"{kept}; an audit has {counted(outlook.found, 'error or warning', 'errors and warnings')}"
