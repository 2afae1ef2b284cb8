"""The verb `workload`: sends a seeded set of messages to a broker and records what it acknowledged and answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocket_conformance.workload import Client

__all__ = ["register"]

_UNREADABLE = 3

HELP = """Send a seeded set of messages to a broker and record what it acknowledged and answered.

The messages are chosen to bring out the clauses: colliding and repeated keys, every delay level, batches,
transactions, long and odd texts, and enough of them to roll small index and queue files. They go through the real
client of RocketMQ (Java 17 and Maven), into topics whose names begin with rocketspec-. Afterwards keys, ids and
queues are asked back. Then stop the broker and judge its store with `conform --store DIR --workload MANIFEST`.

With --start and --kills the broker is started, killed under load and started again; what each start deletes, cuts off
and dispatches again is judged, and so is the store at the end.

\b
Examples:
  rocketspec workload --namesrv 127.0.0.1:9876 -o manifest.json
  rocketspec workload --namesrv 127.0.0.1:9876 --seed 7 --messages 20000 -o manifest.json
  rocketspec workload --namesrv 127.0.0.1:9876 --start 'mqbroker -c broker.conf' --store /data/store --kills 5

\b
Exit codes:
  0 every message was acknowledged, and each start was right    2 usage
  1 a message was refused, or a clause is broken                3 no Java, no client, no name server
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
    seed: Annotated[int, typer.Option(help="Seed of the messages.")] = 0,
    messages: Annotated[
        int, typer.Option(min=0, help="Number of plain messages beside the directed ones.")
    ] = 2000,
    client: Annotated[str, typer.Option(metavar="VERSION", help="Version of the client.")] = "4.9.3",
    jars: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Take the client's jars from here, not from Maven.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Shell command that starts the broker, in the foreground."),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Its store directory, for --kills.")
    ] = None,
    kills: Annotated[
        int, typer.Option(min=0, help="Number of kills under load; needs --start and --store.")
    ] = 0,
    geometry: Annotated[
        str | None,
        typer.Option(metavar="SLOTS,ENTRIES", help="Geometry of the index files of --store; else inferred."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite MANIFEST.")] = False,
) -> None:
    """Runs the workload and ends with its exit code."""
    from rocket_conformance.rocketmq_jar import JarUnavailableError
    from rocket_conformance.workload import Client, ClientError, run_workload
    from rocket_spec.errors import UsageError
    from rocket_spec.printable import printable

    if output.exists() and not force:
        raise UsageError(f"{output}: already exists; --force overwrites it")
    if (kills > 0) != (start is not None) or (kills > 0) != (store is not None):
        raise UsageError("--start, --store and --kills go together")

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
                    kills=kills,
                    version=client,
                    geometry=geometry,
                )
            )
        with open_client() as running:
            manifest = run_workload(running, seed=seed, count=messages, version=client)
    except (ClientError, JarUnavailableError) as error:
        typer.echo(f"rocketspec: {printable(str(error))}", err=True)
        raise typer.Exit(_UNREADABLE) from None
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
    kills: int,
    version: str,
    geometry: str | None,
) -> int:
    """Kills and restarts; the exit code."""
    import tempfile

    from rocket_conformance.store_verdict import (
        Observations,
        copy_sparse,
        judge_restart,
        judge_store,
        store_report,
        verdict_lines,
    )
    from rocket_conformance.workload import Broker, Manifest, run_crashes
    from rocket_spec.layout import parse_geometry
    from rocket_spec.printable import printable

    given = None if geometry is None else parse_geometry(geometry)
    manifest = Manifest(seed, version, kills)
    seen = Observations()
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as folder:

        def killed(number: int) -> None:
            copy_sparse(store, Path(folder) / str(number))

        def restarted(number: int) -> None:
            judge_restart(Path(folder) / str(number), store, seen, geometry=given)
            typer.echo(f"kill {number}: {len(manifest.sent):,} messages acknowledged so far")

        run_crashes(Broker(start), open_client, manifest, kills=kills, on_crash=killed, on_restart=restarted)
    manifest.write(output)
    judged = judge_store(store, geometry=given, manifest=manifest, seen=seen)
    report = store_report(judged)
    for line in verdict_lines(judged, report):
        typer.echo(printable(line))
    return report.exit_code
