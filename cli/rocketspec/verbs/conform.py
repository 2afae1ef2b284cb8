"""The verb `conform`: tests an implementation against the clauses."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

import typer
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._options import StoreOptions, read_settings, warn
from rocketspec._terminal import note, progress, say, say_all

if TYPE_CHECKING:
    from rocket_conformance.report import CaseLine, Report
    from rocket_conformance.running import Options
    from rocket_conformance.transport import Transport


_FAMILIES = ("index", "service", "queue", "log", "checkpoint")


def conform(
    command: list[str] | None = None,
    *,
    store: Path | None = None,
    geometry: str | None = None,
    commitlog: list[str] | None = None,
    broker_conf: Path | None = None,
    workload: Path | None = None,
    rocketmq: str | None = None,
    rocketmq_profile: str | None = None,
    jars: Path | None = None,
    oracle: bool = False,
    report: Path | None = None,
    baseline: Path | None = None,
    write_baseline: Path | None = None,
    select: list[str] | None = None,
    level: str = "observed",
    require: str = "",
    examples: int = 100,
    seed: int = 0,
    jobs: int = 1,
    case_timeout: float = 10.0,
    restarts: int = 10,
    list_only: bool = False,
    fail_fast: bool = False,
    check_schema: bool = False,
    as_json: bool = False,
    scratch: Path | None = None,
) -> None:
    """Test an implementation against the clauses of RocketMQ 4.9.3.

    COMMAND starts an adapter, which exchanges JSON lines on stdin and stdout. Without COMMAND the bundled engine is
    tested, with --rocketmq the real RocketMQ of a version.

    Examples:
      rocketspec conform
      rocketspec conform --report out -- python3 my_adapter.py
      rocketspec conform --select 'IDX-PUT-*' -- ./adapter
      rocketspec conform --rocketmq 4.7.0 --report out
      rocketspec conform --rocketmq-profile 5.5.1 -- ./adapter
      rocketspec conform --store ~/store --report out
      rocketspec conform --baseline known.txt -- ./adapter

    Exit codes:
      0 conformant, or a partial run without a failure
      1 not conformant
      2 usage
      3 adapter not started
      4 incomplete: skipped, unsupported, cut short
      5 nothing ran
      6 the baseline is stale
      7 reference and real jar disagree
      130 interrupted
    """
    from rocket_conformance.planning import plan
    from rocket_conformance.report import Baseline, read_baseline
    from rocket_conformance.running import Options
    from rocket_conformance.transport import open_jar, stop_on_signals
    from rocket_spec.errors import UsageError
    from rocket_spec.profiles import GROUND, profile

    from rocketspec._implementation import adapter_errors, open_implementation

    families = _families(level, require)
    depth: Literal["must", "observed"] = "must" if level == "must" else "observed"
    if list_only:
        say_all(f"{item.id} ({item.level})" for item in plan(select=select or (), level=depth))
        raise typer.Exit
    option.refuse(
        {"--jars": jars} if rocketmq is None and not oracle else {}, "requires --rocketmq or --oracle"
    )
    known = Baseline() if baseline is None else read_baseline(baseline)
    of_store = {
        "--commitlog": commitlog, "--broker-conf": broker_conf, "--geometry": geometry, "--workload": workload,
    }  # fmt: skip
    of_adapter = {"--select": select, "--fail-fast": fail_fast, "--check-schema": check_schema}
    if store is None:
        option.refuse(of_store, "requires --store")
    else:
        option.refuse(of_adapter, "cannot be combined with --store")
    _refuse_outputs(report, write_baseline, baseline, [*filter(None, (store, *(commitlog or ())))])
    if store is not None and (command or rocketmq or oracle):
        raise UsageError("--store and COMMAND, --rocketmq or --oracle are mutually exclusive")
    options = Options(
        select=tuple(select or ()),
        level=depth,
        examples=examples,
        seed=seed,
        require=families,
        baseline=known,
        restarts=restarts,
        fail_fast=fail_fast,
        command=command or (["--rocketmq", rocketmq] if rocketmq else []),
        scratch=scratch,
        profile=profile(rocketmq_profile or GROUND),
    )
    if store is not None:
        settings = read_settings(store, commitlog, geometry, broker_conf)
        result, summary = _judge(settings, rocketmq_profile, workload, options, report)
        _finish(result, options, write_baseline, report, as_json=as_json, summary=summary)
    plan(select=options.select, level=options.level)  # read, and refused, before an adapter starts
    with stop_on_signals(), adapter_errors(), contextlib.ExitStack() as stack:
        opened = stack.enter_context(
            open_implementation(
                command, rocketmq, jars, case_timeout=case_timeout, check_schema=check_schema, jobs=jobs
            )
        )
        unknown = opened.hello.unknown()
        if unknown:
            listed = ", ".join(map(_with_guess, unknown[:20]))
            note(f"hello declares what protocol 1 does not know, which is never sent: {listed}")
        witness = stack.enter_context(open_jar(options.profile.version, jars=jars)) if oracle else None
        result = _run(opened, options, witness, report)
    if result.footer is not None and "--restarts" in (result.footer["cut_short"] or ""):
        note("add --case-timeout 1 --restarts 1000 to run the skipped cases too")
    _finish(result, options, write_baseline, report, as_json=as_json)


def _with_guess(name: str) -> str:
    """A name of hello that is unknown, with the one that may be meant."""
    from difflib import get_close_matches

    from rocket_conformance.protocol import OPERATIONS

    return f"{name} (did you mean {near[0]}?)" if (near := get_close_matches(name, OPERATIONS, 1)) else name


def _refuse_outputs(
    report: Path | None, write_baseline: Path | None, baseline: Path | None, inputs: Sequence[Path | str]
) -> None:
    """Refuses to write over what is there, or into a store."""
    from rocket_spec.errors import UsageError
    from rocket_spec.store_folders import refuse_store

    if write_baseline is not None and write_baseline.exists() and write_baseline != baseline:
        raise UsageError(f"{write_baseline}: already exists; only the file of --baseline is replaced")
    for output in filter(None, (report, write_baseline)):
        refuse_store(output, *inputs)


def _judge(
    settings: StoreOptions, release: str | None, workload: Path | None, options: Options, folder: Path | None
) -> tuple[Report, list[str]]:
    """The verdict on a store: its report, which is written to `folder` if one is given, and its summary in lines.

    Without a `release` the files show by whose rules it is judged.
    """
    from rocket_columnar.audit import audited
    from rocket_conformance.store_verdict import Observations, judge_store, store_report, verdict_lines
    from rocket_conformance.workload import read_manifest

    facts = settings.open(release)
    if not facts.signs:
        warn(settings)
    manifest = None if workload is None else read_manifest(workload)
    judged = judge_store(facts, audited, manifest=manifest, seen=Observations(profile=options.profile))
    if facts.signs and release is None:
        from rocket_columnar.store import written_later

        rules = (
            f"judged by the rules of {judged.observations.profile.version}; --rocketmq-profile names others"
        )
        note(f"{settings.store}: {written_later(facts.signs)}; {rules}")
    report = store_report(
        judged, level=options.level, require=options.require, baseline=options.baseline, folder=folder
    )
    return report, verdict_lines(judged, report)


def _finish(
    result: Report,
    options: Options,
    write_baseline: Path | None,
    folder: Path | None,
    *,
    as_json: bool,
    summary: Sequence[str] | None = None,
) -> NoReturn:
    """Writes the baseline, shows the report, and ends with its exit code; `summary` replaces that of an adapter."""
    if write_baseline is not None:
        from rocket_conformance.report import baseline_text
        from rocket_spec.outputs import write_whole

        text = baseline_text(result.cases, options.baseline)
        write_whole(write_baseline, text)
        note(f"{write_baseline}: {counted(len(text.splitlines()) - 1, 'known failure')}")
    show_report(result, folder, as_json=as_json, summary=summary)
    raise typer.Exit(result.exit_code)


def _families(level: str, require: str) -> list[str]:
    """The families of --require, after a check of both options."""
    from rocket_spec.errors import UsageError

    if level not in {"must", "observed"}:
        raise UsageError(f"--level {level!r}: expected must or observed")
    families = [name for name in require.split(",") if name]
    for name in families:
        if name not in _FAMILIES:
            raise UsageError(f"--require {name!r}: expected {', '.join(_FAMILIES[:-1])} or {_FAMILIES[-1]}")
    return families


def _run(opened: Transport, options: Options, witness: Transport | None, folder: Path | None) -> Report:
    from rocket_conformance.running import run

    done = 0
    with progress(opened.hello.name, unit="cases") as step:

        def on_case(_line: CaseLine, total: int) -> None:
            nonlocal done
            done += 1
            step(done, total)

        return run(opened, options, oracle=witness, report=folder, on_case=on_case)


def show_report(
    result: Report, folder: Path | None, *, as_json: bool = False, summary: Sequence[str] | None = None
) -> None:
    """Renders the report into its folder, and prints it as JSON lines or as a summary."""
    from rocket_conformance.pages import write_renderings
    from rocket_conformance.report import write_badges

    if folder is not None:
        write_renderings(result, folder)
        write_badges(result, folder)
    if as_json:
        option.print_rows(result.to_lines(), (), as_json=True)
        return
    if summary is not None:
        say_all([*([f"report: {folder / 'report.html'}"] if folder else []), *summary])
        return
    from rich.console import Console
    from rocket_conformance.report import print_summary

    console = Console(highlight=False)
    implementation = result.header["implementation"]
    console.print(
        f"{implementation['name']} {implementation['version']}".rstrip(), markup=False, style="bold"
    )
    if folder is not None:
        say(f"report: {folder / 'report.html'}")
    print_summary(result, console, folder=folder)
