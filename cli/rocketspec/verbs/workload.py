"""The verb `workload`: sends a seeded set of messages to a broker and records what it acknowledged and answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]

_UNREADABLE = 3

HELP = """Send a seeded set of messages to a broker and record what it acknowledged and answered.

The messages are chosen to bring out the clauses: colliding and repeated keys, every delay level, batches,
transactions, long and odd texts, and enough of them to roll small index and queue files. They go through the real
client of RocketMQ (Java 17 and Maven), into topics whose names begin with rocketspec-. Afterwards keys, ids and
queues are asked back. Then stop the broker and judge its store with `conform --store DIR --workload MANIFEST`.

\b
Examples:
  rocketspec workload --namesrv 127.0.0.1:9876 -o manifest.json
  rocketspec workload --namesrv 127.0.0.1:9876 --seed 7 --messages 20000 -o manifest.json

\b
Exit codes:
  0 every message was acknowledged    2 usage
  1 the broker refused some           3 no Java, no client, no name server
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
    force: Annotated[bool, typer.Option("--force", help="Overwrite MANIFEST.")] = False,
) -> None:
    """Runs the workload and ends with its exit code."""
    from rocket_conformance.rocketmq_jar import JarUnavailableError
    from rocket_conformance.workload import Client, ClientError, run_workload
    from rocket_spec.errors import UsageError
    from rocket_spec.printable import printable

    if output.exists() and not force:
        raise UsageError(f"{output}: already exists; --force overwrites it")
    try:
        with Client(namesrv, version=client, jars=jars) as running:
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
