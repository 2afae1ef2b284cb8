"""The group `spark`: its verbs, and when each reports findings."""

from collections.abc import Callable
from typing import Final

import typer

from rocketspec._options import exit_codes
from rocketspec.verbs.spark.audit import audit
from rocketspec.verbs.spark.decode import decode
from rocketspec.verbs.spark.fleet import digest, query
from rocketspec.verbs.spark.rebuild import rebuild

_VERBS: Final[dict[str, tuple[Callable[..., None], str]]] = {
    "decode": (decode, "part of the input could not be decoded"),
    "audit": (audit, "there are errors or warnings"),
    "rebuild": (rebuild, "something had to be left out"),
    "query": (query, "no message is found, or a store could not be read"),
    "digest": (digest, "replicas differ, or a store could not be read"),
}
"""The verbs, and when each exits with 1."""


def register(app: typer.Typer) -> None:
    """Adds the group `spark` to the command."""
    group = typer.Typer(
        help="The same jobs on Spark, from a laptop's local[*] to a cluster.", no_args_is_help=True
    )
    for name, (verb, findings) in _VERBS.items():
        group.command(name, epilog=exit_codes(findings))(verb)
    app.add_typer(group, name="spark")
    group.callback()(lambda: None)
