"""The verb `workload`: sends a seeded set of messages to a broker and records what it acknowledged and answered."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._options import StoreOptions, read_settings
from rocketspec._terminal import note

if TYPE_CHECKING:
    from rocket_columnar.facts import Store
    from rocket_conformance.workload import Manifest


def workload(
    *,
    namesrv: str,
    output: Path = Path("manifest.json"),
    seed: int = 0,
    messages: int = 2000,
    client: str = "4.9.3",
    jars: Path | None = None,
    start: str | None = None,
    store: Path | None = None,
    kills: int = 0,
    report: Path | None = None,
    geometry: str | None = None,
    broker_conf: Path | None = None,
    rocketmq_profile: str | None = None,
    baseline: Path | None = None,
    force: bool = False,
) -> None:
    """Send a seeded set of messages to a broker and record what it acknowledged and answered.

    The messages are chosen to bring out the clauses: colliding and repeated keys, every delay level, batches,
    transactions, long and odd texts, and enough of them to roll small index and queue files. They go through the real
    client of RocketMQ (Java 17 and Maven), into topics whose names begin with rocketspec-. Then keys, IDs and
    queues are queried. Afterwards stop the broker and judge its store with `conform --store DIR --workload MANIFEST`.

    With --start the broker is started, gets the messages and is stopped, and its store is judged. With --kills it is then
    killed under load and started again; what each start deletes, cuts off and dispatches again is judged, and so is the
    store at the end.

    Examples:
      rocketspec workload --namesrv 127.0.0.1:9876 -o m.json

    Exit codes:
      0 every message was acknowledged, and each start was right
      1 a message was refused, or a clause is broken
      2 usage
      3 no Java, no client, no name server
      6 the baseline is stale
    """
    from rocket_columnar.audit import audited
    from rocket_conformance.report import Baseline, read_baseline
    from rocket_conformance.rocketmq import JarUnavailableError
    from rocket_conformance.store_verdict import judge_crashes, store_report, verdict_lines
    from rocket_conformance.workload import Broker, Client, ClientError, require_name_server, run_workload
    from rocket_spec.errors import UsageError
    from rocket_spec.profiles import GROUND, profile
    from rocket_spec.store_folders import refuse_store

    from rocketspec.verbs.conform import show_report

    if output.exists() and not force:
        raise UsageError(f"{output}: already exists; --force overwrites it")
    refuse_store(output, *filter(None, [store]))
    of_start = {
        "--kills": kills or None, "--report": report, "--baseline": baseline, "--broker-conf": broker_conf,
        "--rocketmq-profile": rocketmq_profile, "--geometry": geometry,
    }  # fmt: skip
    option.refuse({} if start else of_start, "requires --start")
    option.refuse({} if store else {"--start": start}, "requires --store")
    known = Baseline() if baseline is None else read_baseline(baseline)

    def open_client() -> Client:
        return Client(namesrv, version=client, jars=jars)

    def send(running: Client) -> Manifest:
        return run_workload(running, seed=seed, count=messages, version=client, store=store)

    def stepped(what: str, manifest: Manifest) -> None:
        manifest.write(output)
        so_far = "" if what == "workload" else " so far"
        typer.echo(f"{what}: {counted(len(manifest.sent), 'message')} acknowledged{so_far}")

    try:
        if start is not None and store is not None:
            settings = read_settings(store, None, geometry, broker_conf)
            look = partial(_look, settings, release=rocketmq_profile)
            rules = profile(rocketmq_profile or GROUND)
            judged = judge_crashes(
                Broker(start),
                open_client,
                send,
                store,
                kills=kills,
                look=look,
                audit=audited,
                on_step=stepped,
                profile=rules,
            )
            result = store_report(judged, baseline=known, folder=report)
            show_report(result, report, summary=verdict_lines(judged, result))
            raise typer.Exit(result.exit_code)
        require_name_server(namesrv)
        with open_client() as running:
            manifest = send(running)
    except (ClientError, JarUnavailableError) as error:
        note(str(error))
        raise typer.Exit(option.UNREADABLE) from None
    manifest.write(output)
    _show(manifest, output)
    raise typer.Exit(1 if manifest.refused else 0)


def _show(manifest: Manifest, output: Path) -> None:
    """Prints what was acknowledged, and what was refused."""
    from rocket_spec.printable import printable

    typer.echo(
        f"{counted(len(manifest.sent), 'message')} acknowledged, {counted(len(manifest.refused), 'action')} refused"
    )
    for refused in manifest.refused[:5]:
        typer.echo(f"  {refused['do']} to {refused['topic']}: {printable(refused['error'])}")
    typer.echo(f"manifest: {output}")


def _look(settings: StoreOptions, path: Path, *, release: str | None) -> Store:
    """A store, or a copy of it."""
    return replace(settings, store=path).open(release)
