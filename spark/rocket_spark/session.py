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
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOG_CONFIG: Final = Path(__file__).with_name("quiet-log4j2.properties")

_CURE: Final = "Spark needs a Java 17 beside `pip install rocketspec[spark]`"

QUICK_COMPILER: Final = "-XX:TieredStopAtLevel=1"
"""For a JVM that only hands out tasks: the thorough compiler would take the processors from these for minutes."""

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
def _stderr_to(log: Path | None) -> Iterator[None]:
    """Redirects stderr of processes started inside the block to `log`, for as long as they run."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    own = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


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
    only_jobs: bool = False,
) -> SparkSession:
    """A Spark session: on this machine, on a cluster, or over Spark Connect; an existing one is reused.

    With a `local` master the workers run this interpreter, and a master on loopback keeps the driver there too. Workers
    import nothing from their working directory, which may be a store; ship modules of your own with `spark.submit.pyFiles`.
    The environment of this process is changed (`PYSPARK_PYTHON`, `SPARK_HOME`, `SPARK_LOCAL_IP`), since that is where
    the JVM looks.

    Args:
        master: Spark's master URL; by default that of `spark-submit`, else `local[*]`.
        remote: URL of a Spark Connect server (`sc://host:port`), instead of a master.
        conf: Spark's properties.
        app_name: name of the application.
        log: a file, overwritten, for stderr of the JVM and its workers; by default this process's own stderr.
        only_jobs: the session is only for the jobs of this package: the JVM starts in half the processor time, but
            is slow for heavy Spark SQL, such as queries of your own.

    Raises:
        SparkUnavailableError: Java is missing, or Spark does not start or answer.
        UsageError: both a master and a remote.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if master is not None and remote is not None:
        raise UsageError("a master and a Spark Connect server are mutually exclusive")
    builder = SparkSession.builder.appName(app_name)
    settings: dict[str, str] = {}
    if remote is not None:
        where = f"Spark Connect at {remote} does not answer"
        server = _SERVER.match(remote)
        if server is not None:  # a local server has no port yet
            _require_answer([(server[1], int(server[2] or _CONNECT_PORT))], where)
        builder = builder.remote(remote)
    else:
        where = f"Spark does not start with master {master}"
        if master is not None and master.startswith("spark://"):
            _require_answer([(host, int(port)) for host, port in _ADDRESS.findall(master)], where)
        settings = driver_settings(master, QUICK_COMPILER if only_jobs else "")
    for name, value in (settings | dict(conf or {})).items():
        builder = builder.config(name, value)
    try:
        with _stderr_to(log), _uninterrupted(), _safe_path():
            session = builder.getOrCreate()
            if remote is not None:
                _ = session.version  # the first word with the server
            return session
    except (Py4JError, PySparkException, ImportError) as error:
        raise SparkUnavailableError(f"{where}: {_reason(error, log)}") from error


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


@contextmanager
def _safe_path() -> Iterator[None]:
    """The JVM that starts inside the block, and its workers, import nothing from a working directory, which may be a store."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _settle_home() -> None:
    """Sets Spark's home: PySpark would take a directory above the working directory if that holds `bin/spark-submit` and `jars`."""
    import pyspark

    package = Path(pyspark.__file__).parent
    homes = [
        home for home in (package / "spark-distribution", package) if (home / "bin/spark-submit").is_file()
    ]
    if homes:
        os.environ.setdefault("SPARK_HOME", str(homes[0]))


def driver_settings(master: str | None, options: str = "") -> dict[str, str]:
    """Settings of a session whose driver is this process; `options` are the JVM's."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not submitted:
        master = "local[*]"
    if not submitted:
        _require_java()
    if master is not None and master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    _settle_home()
    settings = {"spark.ui.showConsoleProgress": "false", "spark.executorEnv.PYTHONSAFEPATH": "1"}
    if hasattr(socket, "AF_UNIX") and (master or "").startswith(("local", "spark://")):
        # Over TCP each task waits 40 ms: small writes that go together meet an acknowledgement that is delayed. In the
        # containers of YARN, which spark-submit may start, the folder of a socket is longer than the 107 bytes allowed.
        settings["spark.python.unix.domain.socket.enabled"] = "true"
    if master is None:
        return settings
    logging = f"-Dlog4j2.configurationFile={_LOG_CONFIG.as_uri()}"
    settings |= {
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": f"{logging} {options}".rstrip(),
    }
    if _ON_LOOPBACK.match(master):
        os.environ["SPARK_LOCAL_IP"] = _LOOPBACK
        settings |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    return settings
