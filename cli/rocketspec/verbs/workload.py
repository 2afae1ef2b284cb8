"""The verb `workload`: sends a seeded set of messages to a broker and records what it acknowledged and answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rocketspec import _options as option
from rocketspec._terminal import note

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocket_conformance.report import Baseline
    from rocket_conformance.workload import Client

__all__ = ["register"]

HELP = """Send a seeded set of messages to a broker and record what it acknowledged and answered.

The messages are chosen to bring out the clauses: colliding and repeated keys, every delay level, batches,
transactions, long and odd texts, and enough of them to roll small index and queue files. They go through the real
client of RocketMQ (Java 17 and Maven), into topics whose names begin with rocketspec-. Then keys, IDs and
queues are queried. Afterwards stop the broker and judge its store with `conform --store DIR --workload MANIFEST`.

With --start the broker is started, gets the messages and is stopped, and its store is judged. With --kills it is then
killed under load and started again; what each start deletes, cuts off and dispatches again is judged, and so is the
store at the end.

\b
Examples:
  rocketspec workload --namesrv 127.0.0.1:9876 -o manifest.json
  rocketspec workload --namesrv 127.0.0.1:9876 --seed 7 --messages 20000 -o manifest.json
  rocketspec workload --namesrv 127.0.0.1:9876 --start 'mqbroker -c broker.conf' --store /data/store --kills 5 --report out

\b
Exit codes:
  0 every message was acknowledged, and each start was right
  1 a message was refused, or a clause is broken
  2 usage
  3 no Java, no client, no name server
  6 the baseline is stale
"""


def register(app: typer.Typer) -> None:
    """Adds `workload` to the command."""
    app.command("workload", help=HELP)(workload)


def workload(
    *,
    namesrv: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address of the name server.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="MANIFEST", help="Write the record of the workload here."),
    ] = Path("manifest.json"),
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the messages.")] = 0,
    messages: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of plain messages beside the directed ones.")
    ] = 2000,
    client: Annotated[str, typer.Option(metavar="VERSION", help="Version of the client.")] = "4.9.3",
    jars: option.Jars = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Shell command that starts the broker, in the foreground."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Its store directory: times messages by the index files, which are only read; needed by --start.",
        ),
    ] = None,
    kills: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of kills under load; needs --start and --store.")
    ] = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the report of --start to DIR, as conform does.")
    ] = None,
    geometry: option.GeometryText = None,
    baseline: option.BaselineFile = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite MANIFEST.")] = False,
) -> None:
    """Runs the workload and ends with its exit code."""
    from rocket_conformance.report import Baseline, read_baseline
    from rocket_conformance.rocketmq import JarUnavailableError
    from rocket_conformance.workload import Client, ClientError, require_name_server, run_workload
    from rocket_spec.errors import UsageError
    from rocket_spec.printable import printable

    if output.exists() and not force:
        raise UsageError(f"{output}: already exists; --force overwrites it")
    if start is None and (kills or report is not None or baseline is not None):
        raise UsageError("--kills, --report and --baseline need --start")
    if start is not None and store is None:
        raise UsageError("--start needs --store")
    known = Baseline() if baseline is None else read_baseline(baseline)

    def open_client() -> Client:
        return Client(namesrv, version=client, jars=jars)

    try:
        if start is not None and store is not None:
            raise typer.Exit(
                _crash(
                    open_client,
                    start,
                    store,
                    output,
                    seed=seed,
                    messages=messages,
                    kills=kills,
                    version=client,
                    geometry=geometry,
                    known=known,
                    folder=report,
                )
            )
        require_name_server(namesrv)
        with open_client() as running:
            manifest = run_workload(running, seed=seed, count=messages, version=client, store=store)
    except (ClientError, JarUnavailableError) as error:
        note(str(error))
        raise typer.Exit(option.UNREADABLE) from None
    manifest.write(output)
    typer.echo(f"{len(manifest.sent):,} messages acknowledged, {len(manifest.refused)} actions refused")
    for refused in manifest.refused[:5]:
        typer.echo(f"  {refused['do']} to {refused['topic']}: {printable(refused['error'])}")
    typer.echo(f"manifest: {output}")
    raise typer.Exit(1 if manifest.refused else 0)


def _crash(
    open_client: Callable[[], Client],
    start: str,
    store: Path,
    output: Path,
    *,
    seed: int,
    messages: int,
    kills: int,
    version: str,
    geometry: str | None,
    known: Baseline,
    folder: Path | None,
) -> int:
    """Starts, sends and asks, kills and restarts; judges all of it; the exit code."""
    import tempfile
    from contextlib import ExitStack

    from rocket_conformance.pages import write_renderings
    from rocket_conformance.report import write_badges
    from rocket_conformance.store_verdict import (
        Observations,
        copy_sparse,
        judge_continuation,
        judge_restart,
        judge_store,
        log_end,
        store_report,
        verdict_lines,
    )
    from rocket_conformance.workload import Broker, run_crashes, run_workload, send_for_the_bound
    from rocket_spec.printable import printable

    given = option.read_geometry(geometry)
    seen = Observations()
    broker = Broker(start)
    starts: list[int] = []
    with ExitStack() as ended:
        copies = ended.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-"))
        broker.start()
        ended.callback(broker.kill)
        client = ended.enter_context(open_client())
        manifest = run_workload(client, seed=seed, count=messages, version=version, store=store)
        if kills:
            send_for_the_bound(client, manifest)
        broker.stop()
        manifest.write(output)
        judge_store(store, geometry=given, manifest=manifest, seen=seen)
        typer.echo(f"workload: {len(manifest.sent):,} messages acknowledged")

        def stopped(number: int) -> None:
            copy_sparse(store, Path(copies) / str(number))
            starts.append(log_end(store))

        def restarted(number: int) -> None:
            judge_restart(Path(copies) / str(number), store, seen, geometry=given)
            what = f"kill {number}" if number <= kills else "clean restart"
            typer.echo(f"{what}: {len(manifest.sent):,} messages acknowledged so far")

        manifest.answers.clear()
        manifest.kills = kills
        run_crashes(broker, client, manifest, kills=kills, on_crash=stopped, on_restart=restarted)
        judge_continuation(store, starts, seen)
    manifest.write(output)
    judged = judge_store(store, geometry=given, manifest=manifest, seen=seen)
    report = store_report(judged, baseline=known, folder=folder)
    if folder is not None:
        write_renderings(report, folder)
        write_badges(report, folder)
        typer.echo(f"report: {folder / 'report.html'}")
    for line in verdict_lines(judged, report):
        typer.echo(printable(line))
    return report.exit_code
