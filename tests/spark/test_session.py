"""`open_session`: what is settled before a JVM starts."""

from __future__ import annotations

import os
import subprocess
import sys

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
