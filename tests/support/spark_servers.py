"""Spark servers from PySpark's own launchers, on loopback; each process is ended by its pid."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from java_programs import SHORT_LIVED

_BIN = Path(pyspark.__file__).parent / "bin"
_PATIENCE = 180


def quick_python(folder: Path) -> str:
    """This Python for Spark's workers, of which each reading of a source starts two or three.

    Spark puts its own pyspark.zip on their path, and Python compiles what it imports from a zip each time. The same modules
    lie beside it, compiled.
    """
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH= exec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    return str(python)


@dataclass(frozen=True)
class Cluster:
    """A standalone cluster; its workers have one core each, and their tasks see their number in TEST_WORKER."""

    master: str
    workers: tuple[subprocess.Popen[bytes], ...]


def wait_for(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
    """The first group of a pattern once it is in a log."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        text = log.read_text("utf-8", "replace") if log.exists() else ""
        found = re.search(pattern, text)
        if found:
            return found[1]
        if process.poll() is not None:
            raise RuntimeError(f"{log.name} ended with {process.returncode}: {text[-2000:]}")
        time.sleep(0.1)
    raise RuntimeError(f"{log.name}: no {pattern!r} in {_PATIENCE} s: {text[-2000:]}")


@contextmanager
def _process(log: Path, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    settings = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": quick_python(log.parent),
        **environment,
    }
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [str(_BIN / command[0]), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **settings},
            cwd=log.parent,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def cluster(
    directory: Path, *, workers: int = 2, memory: str = "1g", java_options: str = SHORT_LIVED
) -> Iterator[Cluster]:
    """Starts a cluster; the workers have addresses of their own, or Spark would not speculate between them."""
    small = {"SPARK_DAEMON_MEMORY": "256m", "JAVA_TOOL_OPTIONS": java_options}
    deploy = "org.apache.spark.deploy"
    with ExitStack() as stack:
        log = directory / "master.log"
        ports = ("--port", "0", "--webui-port", "0")
        master = stack.enter_context(
            _process(log, "spark-class", f"{deploy}.master.Master", "--host", "127.0.0.1", *ports, **small)
        )
        url = wait_for(log, r"Starting Spark master at (spark://[\d.:]+)", master)
        started = []
        for number in range(1, workers + 1):
            log = directory / f"worker-{number}.log"
            address = f"127.0.0.{number}" if sys.platform == "linux" else "127.0.0.1"
            options = (
                "--host",
                address,
                "--cores",
                "1",
                "--memory",
                memory,
                "--work-dir",
                str(directory / "work"),
            )
            environment = {"TEST_WORKER": str(number), "SPARK_LOCAL_IP": address, **small}
            worker = stack.enter_context(
                _process(log, "spark-class", f"{deploy}.worker.Worker", *options, *ports, url, **environment)
            )
            started.append((worker, log))
        for worker, log in started:
            wait_for(log, r"(Successfully registered) with master", worker)
        yield Cluster(url, tuple(worker for worker, _ in started))


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Starts a Spark Connect server over local[2]; its URL."""
    log = directory / "connect.log"
    options = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    settings = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = ("spark-submit", "--class", server, "--master", "local[2]", *settings, "spark-internal")
    with _process(log, *command, JAVA_TOOL_OPTIONS=SHORT_LIVED) as process:
        port = wait_for(log, r"Spark Connect server started at: \S*?:(\d+)", process)
        yield f"sc://127.0.0.1:{port}"
