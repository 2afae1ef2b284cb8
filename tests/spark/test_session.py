"""`open_session`: what is settled before a JVM starts."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.spark


def test_a_session_for_jobs_starts_its_jvm_with_the_quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession
    from rocket_spark import session

    monkeypatch.setattr(os, "environ", dict(os.environ))
    settled = session._classic(SparkSession.Builder(), "local[1]", session._QUICK_COMPILER)._options
    assert settled["spark.driver.extraJavaOptions"].split()[1:] == ["-XX:TieredStopAtLevel=1"]
    settled = session._classic(SparkSession.Builder(), "local[1]", "")._options
    assert len(settled["spark.driver.extraJavaOptions"].split()) == 1
