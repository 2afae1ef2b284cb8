"""Starts Spark with the running interpreter, on loopback for a local master, without UI and with quiet logs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


_LOG_CONFIG: Final = Path(__file__).with_name("quiet-log4j2.properties")

_CURE: Final = "Spark needs a Java 17 beside `pip install rocketspec[spark]`"

QUICK_COMPILER: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that only hands out tasks: threads of the thorough compiler and collector would take processors from these."""

_LOOPBACK: Final = "127.0.0.1"

_SERVER: Final = re.compile(r"sc://(\[[^\]]+\]|[^/:;]+)(?::(\d+))?")

_CONNECT_PORT: Final = 15002

_PATIENCE_SECONDS: Final = 15

_ADDRESS: Final = re.compile(r"(\[[^\]]+\]|[^/:,]+):(\d+)")

_ON_LOOPBACK: Final = re.compile(r"local(\[|$|-cluster)|spark://(localhost|127\.0\.0\.1)[:,]")


_NO_ADDRESS: Final = re.compile(r"UnknownHostException|Service 'sparkDriver' failed after")

_ADDRESS_CURE: Final = (
    "the driver cannot listen on this machine's address: set SPARK_LOCAL_IP to one that the workers reach"
)


class SparkUnavailableError(RuntimeError):
    """This machine lacks something that Spark needs; the message is one line with the cure."""


def _require_java() -> None:
    """Searches where Spark does: only in JAVA_HOME if it is set, otherwise on PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        if not (Path(home) / "bin" / "java").exists():
            raise SparkUnavailableError(f"JAVA_HOME={home} holds no bin/java: {_CURE}")
    elif shutil.which("java") is None:
        raise SparkUnavailableError(f"no java on PATH: {_CURE}")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """The environment of the JVM that starts inside the block: Spark has no settings for these."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays the first Ctrl-C until the JVM has started; otherwise the JVM would be orphaned."""
    put_off = False

    def handler(*_: object) -> None:
        nonlocal put_off
        put_off = True
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handler:
            signal.signal(signal.SIGINT, before)
    if put_off:
        raise KeyboardInterrupt


def _reason(error: Exception, log: Path | None) -> str:
    """The reason why Spark did not start, in one line: the JVM's last line before its stack trace, otherwise the first line of the error."""
    cause = getattr(error, "java_exception", None)
    text = str(error) if cause is None else str(cause.getMessage())
    if log is not None:
        said = [
            line
            for line in log.read_text("utf-8", "replace").splitlines()
            if "Exception" in line.split(":")[0]
        ]
        if said:
            text = said[-1].partition("Exception: ")[2] or said[-1]
    whole = text if cause is None else f"{cause.toString()} {text}"
    return _ADDRESS_CURE if _NO_ADDRESS.search(whole) else text.strip().partition("\n")[0]


def open_session(
    master: str | None = None,
    *,
    remote: str | None = None,
    conf: Mapping[str, str] | None = None,
    app_name: str = "rocketspec",
    log: Path | None = None,
) -> SparkSession:
    """A Spark session: on this machine, on a cluster, or over Spark Connect; an existing one is reused.

    With a `local` master the workers run this interpreter, and a master on loopback keeps the driver there too. Workers
    import nothing from their working directory, which may be a store; ship modules of your own with `spark.submit.pyFiles`.

    Args:
        master: Spark's master URL; by default that of `spark-submit`, else `local[*]`.
        remote: URL of a Spark Connect server (`sc://host:port`), instead of a master.
        conf: Spark's properties.
        app_name: name of the application.
        log: a file, overwritten, for stderr of the JVM and its workers; by default this process's own stderr.

    Raises:
        SparkUnavailableError: Java is missing, or Spark does not start or answer.
        UsageError: both a master and a remote.
    """
    from pyspark.sql import SparkSession

    if master is not None and remote is not None:
        raise UsageError("a master and a Spark Connect server are mutually exclusive")
    named = {"spark.app.name": app_name} | dict(conf or {})
    if remote is None:
        with _driver(master, named, log) as settings:
            return _session(SparkSession.builder, settings)
    where = f"Spark Connect at {remote} does not answer"
    server = _SERVER.match(remote)
    if server is not None:  # a local server has no port yet
        _require_answer([(server[1], int(server[2] or _CONNECT_PORT))], where)
    with _one_line(where, None):
        return _session(SparkSession.builder.remote(remote), named)


def _session(builder: Any, settings: Mapping[str, str]) -> SparkSession:
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    _ = session.version  # the first word with a server
    return session


def open_context(
    master: str | None = None,
    *,
    conf: Mapping[str, str] | None = None,
    app_name: str = "rocketspec",
    log: Path | None = None,
) -> SparkContext:
    """A SparkContext for the jobs of this package alone: it starts in half the processor time of a session.

    Arguments and errors as of `open_session`. The JVM compiles with less optimisation.
    """
    from pyspark import SparkConf, SparkContext

    with _driver(master, {"spark.app.name": app_name} | dict(conf or {}), log, QUICK_COMPILER) as settings:
        return SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))


@contextmanager
def _driver(
    master: str | None, conf: Mapping[str, str], log: Path | None, options: str = ""
) -> Iterator[dict[str, str]]:
    """Prepares the driver of a session or a context while the block starts it; gives its settings."""
    from pyspark.sql import SparkSession

    where = f"Spark does not start with master {master}"
    if master is not None and master.startswith("spark://"):
        _require_answer([(host, int(port)) for host, port in _ADDRESS.findall(master)], where)
    settings, environment = driver_settings(master, options)
    settings |= conf
    with _one_line(where, log), _environment(environment), _uninterrupted():
        if log is not None and SparkSession.getActiveSession() is None:
            _start(settings, log)
        yield settings


@contextmanager
def _one_line(where: str, log: Path | None) -> Iterator[None]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, ImportError) as error:
        raise SparkUnavailableError(f"{where}: {_reason(error, log)}") from error


def _start(settings: Mapping[str, str], log: Path) -> None:
    """Starts the driver, with a JVM whose stderr is a file."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf().setAll(list(settings.items()))
    with log.open("wb") as file:
        SparkContext(conf=conf, gateway=launch_gateway(conf, {"stderr": file}))  # type: ignore[no-untyped-call]


def _require_answer(addresses: Sequence[tuple[str, int]], where: str) -> None:
    """Checks that one of several ports answers: Spark itself would try for minutes."""
    why = "names no HOST:PORT"
    for host, port in addresses:
        try:
            socket.create_connection((host.strip("[]"), port), _PATIENCE_SECONDS).close()
        except OSError as error:
            why = error.strerror or str(error)
        else:
            return
    raise SparkUnavailableError(f"{where}: {why}")


def driver_settings(master: str | None, options: str = "") -> tuple[dict[str, str], dict[str, str]]:
    """Settings of a session whose driver is this process, and the environment of its JVM; `options` are the JVM's."""
    import pyspark

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not submitted:
        master = "local[*]"
    if not submitted:
        _require_java()
    near = master is not None and master.startswith("local")
    # PySpark would take a directory above the working directory for its home if that holds `bin/spark-submit` and `jars`.
    package = Path(pyspark.__file__).parent
    homes = [
        home for home in (package / "spark-distribution", package) if (home / "bin/spark-submit").is_file()
    ]
    environment = {
        "PYSPARK_PYTHON": sys.executable if near else os.environ.get("PYSPARK_PYTHON", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONSAFEPATH": "1",
    }
    if homes:
        environment["SPARK_HOME"] = os.environ.get("SPARK_HOME", str(homes[0]))
    settings = {"spark.ui.showConsoleProgress": "false", "spark.executorEnv.PYTHONSAFEPATH": "1"}
    if hasattr(socket, "AF_UNIX") and (master or "").startswith(("local", "spark://")):
        # Over TCP each task waits 40 ms: small writes that go together meet an acknowledgement that is delayed. In the
        # containers of YARN, which spark-submit may start, the folder of a socket is longer than the 107 bytes allowed.
        settings["spark.python.unix.domain.socket.enabled"] = "true"
    if master is None:
        return settings, environment
    logging = f"-Dlog4j2.configurationFile={_LOG_CONFIG.as_uri()}"
    settings |= {
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": f"{logging} {options}".rstrip(),
    }
    if _ON_LOOPBACK.match(master):
        environment["SPARK_LOCAL_IP"] = _LOOPBACK
        settings |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    return settings, environment
