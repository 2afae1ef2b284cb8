"""Starting Spark on one machine: the running interpreter, loopback only, no UI, quiet logs."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkUnavailableError", "local_session"]

_LOG_CONFIG: Final = Path(__file__).with_name("quiet-log4j2.properties")

_LOOPBACK: Final = "127.0.0.1"


class SparkUnavailableError(RuntimeError):
    """Something that Spark needs is not on this machine; the message is one line with the cure."""


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if shutil.which("java") is None:
        raise SparkUnavailableError(
            "no java on PATH or in JAVA_HOME: Spark needs a Java 17 beside `pip install rocketspec[spark]`"
        )


def local_session(master: str = "local[*]", *, app_name: str = "rocketspec") -> SparkSession:
    """A Spark session whose workers run this interpreter.

    With a `local` master everything binds to loopback and only fatal errors are logged. The environment of this
    process is changed (`PYSPARK_PYTHON`, `SPARK_LOCAL_IP`), since that is where the JVM looks.

    Raises:
        SparkUnavailableError: without a Java.
    """
    _require_java()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master(master)
        .appName(app_name)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(Path(os.path.curdir).absolute() / "spark-warehouse"))
        .config("spark.driver.extraJavaOptions", f'"-Dlog4j2.configurationFile={_LOG_CONFIG.as_uri()}"')
    )
    if master.startswith("local"):
        os.environ["SPARK_LOCAL_IP"] = _LOOPBACK
        builder = builder.config("spark.driver.host", _LOOPBACK).config("spark.driver.bindAddress", _LOOPBACK)
    return builder.getOrCreate()
