"""Options that the verbs on Spark share, and the session of one job."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import UNREADABLE
from rocketspec._terminal import note, progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from rocket_spark.tasks import Progress

__all__ = [
    "Conf",
    "FailFast",
    "Master",
    "Overwrite",
    "Remote",
    "Resume",
    "Storage",
    "Stores",
    "note_failed",
    "one_line",
    "spark_session",
    "storage_options",
]

Stores = Annotated[
    list[str],
    typer.Argument(
        metavar="STORE", help="One or more stores, as the workers see them: a path, s3:// or hdfs://."
    ),
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark master. \\[default: that of spark-submit, else local[*]]"),
]
Remote = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A Spark Connect server (sc://host:port) instead of a master."),
]
Storage = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Option of S3 or HDFS (s3.endpoint, hdfs.webhdfs, ...); repeatable.",
    ),
]
Conf = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Spark property; repeatable.")]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace the output of an earlier job after everything has been written."
    ),
]

FailFast = Annotated[
    bool, typer.Option("--fail-fast", help="Fail at the first store that cannot be processed; write nothing.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Keep finished work when the job fails or is killed, and start from the work that an earlier run kept.",
    ),
]


def _fail(message: str) -> NoReturn:
    note(message)
    raise typer.Exit(UNREADABLE)


@contextmanager
def spark_session(
    master: str | None, remote: str | None, conf: list[str] | None, *, only_jobs: bool = True
) -> Iterator[tuple[SparkSession, Progress]]:
    """A session for one job, and where its progress goes; stopped at the end."""
    from rocket_spark import JobError, SparkUnavailableError, open_session

    settings = _settings("--conf", conf)
    with (
        progress("starting Spark", unit="tasks") as step,
        TemporaryDirectory(prefix="rocketspec-spark-") as scratch,
    ):
        try:
            spark = open_session(
                master, remote=remote, conf=settings, log=Path(scratch) / "stderr", only_jobs=only_jobs
            )
        except SparkUnavailableError as error:
            _fail(str(error))
        try:
            yield spark, lambda what, done, total: step(done, total, what)
        except JobError as error:
            _fail(str(error))
        finally:
            spark.stop()


@contextmanager
def one_line() -> Iterator[None]:
    """Ends with the one line of a job that cannot begin."""
    from rocket_spark import JobError

    try:
        yield
    except JobError as error:
        _fail(str(error))


def note_failed(failed: dict[str, str]) -> None:
    """Lists the stores that failed, each with its reason."""
    for name, reason in failed.items():
        note(f"{name}: failed: {reason}")


def _settings(option: str, given: list[str] | None) -> dict[str, str]:
    settings = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: expected NAME=VALUE")
        settings[name] = value
    return settings


def storage_options(
    given: list[str] | None, commitlog: list[str] | None, stores: list[str]
) -> dict[str, str]:
    """The options of S3 and HDFS, and the directories of the store's commit log.

    Raises:
        UsageError: an unknown option, or directories of a commit log with several stores.
    """
    from rocket_spark.files import COMMITLOG, check_settings

    settings = _settings("--storage", given)
    check_settings(settings)
    if commitlog:
        if len(stores) > 1:
            raise UsageError(
                "--commitlog belongs to one store; run the job once for each store that has several"
            )
        if any("," in folder for folder in commitlog):
            raise UsageError(
                "--commitlog: a comma in a path separates directories; name each with an option of its own"
            )
        settings[COMMITLOG] = ",".join(commitlog)
    return settings
