"""The group `spark`: its verbs, and when each reports findings."""

from typing import Final

import typer

from rocketspec._options import exit_codes
from rocketspec.verbs.spark.audit import audit
from rocketspec.verbs.spark.decode import decode
from rocketspec.verbs.spark.fleet import digest, query
from rocketspec.verbs.spark.job_options import on_spark
from rocketspec.verbs.spark.rebuild import rebuild

GROUP: Final = typer.Typer(
    help="The same jobs on Spark, from a laptop's local[*] to a cluster.", no_args_is_help=True
)
GROUP.command("decode", epilog=exit_codes("part of the input could not be decoded"))(on_spark(decode))
GROUP.command("audit", epilog=exit_codes("there are errors or warnings"))(on_spark(audit))
GROUP.command("rebuild", epilog=exit_codes("something had to be left out"))(on_spark(rebuild))
GROUP.command("query", epilog=exit_codes("no message is found, or a store could not be read"))(
    on_spark(query)
)
GROUP.command("digest", epilog=exit_codes("replicas differ, or a store could not be read"))(on_spark(digest))
