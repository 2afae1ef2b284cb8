"""`open_session`: what is settled before a JVM starts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from rocket_spark.session import driver_settings

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("master", "submitted", "options", "sockets"),
    [
        ("local[1]", False, "-XX:TieredStopAtLevel=1", True),
        ("local[1]", False, "", True),
        ("yarn", False, "", False),
        (None, True, "", False),
    ],
)
def test_what_a_session_starts_its_jvm_with(
    monkeypatch: pytest.MonkeyPatch,
    java: str,
    master: str | None,
    options: str,
    *,
    submitted: bool,
    sockets: bool,
) -> None:
    """No Unix sockets in containers with long paths: a task on YARN failed with "AF_UNIX path too long"."""
    monkeypatch.setattr(os, "environ", dict(os.environ))
    if submitted:
        os.environ["PYSPARK_GATEWAY_PORT"] = "1"
    settled, _ = driver_settings(master, options)
    assert settled.get("spark.driver.extraJavaOptions", "").split()[1:] == options.split()
    assert settled.get("spark.python.unix.domain.socket.enabled") == ("true" if sockets else None)


def test_a_session_leaves_the_environment_of_this_process(spark: SparkSession) -> None:
    """The JVM and its workers import nothing from a working directory; a child that is started later may."""
    assert spark.range(2).count() == 2
    assert not {"PYTHONSAFEPATH", "SPARK_LOCAL_IP", "PYSPARK_DRIVER_PYTHON"} & os.environ.keys()


@pytest.mark.soak  # Spark tries sixteen ports first
def test_an_address_that_is_not_of_this_machine(java: str, hand_made: Path, tmp_path: Path) -> None:
    nowhere = "192.0.2.1"  # kept for examples by RFC 5737
    conf = ("--conf", f"spark.driver.bindAddress={nowhere}", "--conf", f"spark.driver.host={nowhere}")
    command = ("spark", "decode", str(hand_made), "-o", str(tmp_path / "out"), "--master", "local[1]", *conf)
    done = subprocess.run(
        [sys.executable, "-m", "rocketspec", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr == (
        "rocketspec: Spark does not start with master local[1]: the driver cannot listen on this machine's "
        "address: set SPARK_LOCAL_IP to one that the workers reach\n"
    )


def test_an_interrupt_while_spark_starts_leaves_no_process(
    java: str, hand_made: Path, tmp_path: Path
) -> None:
    """The interrupt waits for the JVM, which ends when its standard input does: a pipe of the command."""
    with subprocess.Popen(
        [sys.executable, "-m", "rocketspec", "spark", "audit", str(hand_made), "--master", "local[1]"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        while not (started := psutil.Process(process.pid).children()):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 130
    assert psutil.wait_procs(started, timeout=60)[1] == []
