"""`open_session`: what is settled before a JVM starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


def test_what_a_session_starts_its_jvm_with(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession
    from rocket_spark import session

    monkeypatch.setattr(os, "environ", dict(os.environ))
    settled = session._classic(SparkSession.Builder(), "local[1]", session._QUICK_COMPILER)._options
    assert settled["spark.driver.extraJavaOptions"].split()[1:] == ["-XX:TieredStopAtLevel=1"]
    assert settled["spark.python.unix.domain.socket.enabled"] == "true"
    settled = session._classic(SparkSession.Builder(), "local[1]", "")._options
    assert len(settled["spark.driver.extraJavaOptions"].split()) == 1


@pytest.mark.parametrize(("master", "port"), [("yarn", ""), (None, "1")], ids=["yarn", "submitted"])
def test_no_unix_sockets_where_containers_have_long_paths(
    monkeypatch: pytest.MonkeyPatch, java: str, master: str | None, port: str
) -> None:
    """A task on YARN failed with "AF_UNIX path too long"."""
    from pyspark.sql import SparkSession
    from rocket_spark import session

    monkeypatch.setattr(os, "environ", dict(os.environ))
    if port:
        os.environ["PYSPARK_GATEWAY_PORT"] = port
    settled = session._classic(SparkSession.Builder(), master, "")._options
    assert "spark.python.unix.domain.socket.enabled" not in settled


def test_an_interrupt_ends_the_jvm_that_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left alone it waits for a first word, for ever."""
    from pyspark import java_gateway
    from rocket_spark.session import _starting

    started: list[subprocess.Popen[bytes]] = []

    def interrupted() -> None:
        with _starting():
            started.append(java_gateway.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started[0].wait(60) < 0
    assert java_gateway.Popen is subprocess.Popen  # type: ignore[attr-defined]


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
