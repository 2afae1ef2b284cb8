"""Errors in the form that Spark gives them, as one line."""

from __future__ import annotations

import pytest
from rocket_spark.failure_causes import cause_of
from rocket_spark.sources import reason

_CALL = "An error occurred while calling o96.count.\n: org.apache.spark.SparkException: "


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            _CALL + "Job aborted.\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat x",
            "raise spark.driver.memory",
        ),
        (
            _CALL
            + "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task "
            "0.3 in stage 1.0 (TID 3) (10.0.0.7 executor 2): ExecutorLostFailure (executor 2 exited caused by one of the "
            "running tasks) Reason: Container from a bad node: container_1 on host: w7. Exit status: 137.",
            "spark.executor.memoryOverhead",
        ),
        (
            _CALL
            + "Job aborted due to stage failure: ... ExecutorLostFailure (executor 1 exited caused by one of the "
            "running tasks) Reason: Remote RPC client disassociated.",
            "an executor was lost",
        ),
        (
            _CALL
            + "Job aborted due to stage failure: ... org.apache.spark.SparkException: Python worker exited "
            "unexpectedly (crashed)\n\tat org.apache.spark",
            "a Python worker died",
        ),
        (
            "[PYTHON_EXCEPTION]\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'rocket_columnar'\n",
            "a worker lacks the Python module rocket_columnar",
        ),
        (
            _CALL
            + 'Job aborted ... java.io.IOException: Cannot run program "/opt/py/bin/python3": error=2, No such file',
            "a worker has no Python at /opt/py/bin/python3: set PYSPARK_PYTHON",
        ),
        (
            (
                "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in "
                "driver: 3.11, PySpark cannot run with different minor versions."
            ),
            "set PYSPARK_PYTHON",
        ),
        (
            _CALL
            + "Job aborted due to stage failure: Total size of serialized results of 9 tasks (1100.0 MiB) is bigger "
            "than spark.driver.maxResultSize (1024.0 MiB)",
            "exceed spark.driver.maxResultSize",
        ),
        (_CALL + "Job 3 cancelled because SparkContext was shut down", "SparkException: Job 3 cancelled"),
        ("An error occurred while calling o96.count", "Spark gave no reason"),
    ],
)
def test_the_cause_is_named_in_one_line(text: str, words: str) -> None:
    told = cause_of(text)
    assert words in told
    assert "\n" not in told
    assert "An error occurred while calling" not in told


def test_a_reason_does_not_act_on_a_terminal() -> None:
    error = RuntimeError(
        "[PYTHON_ERROR] failed\nTraceback ...\nUsageError: a\x1b]0;owned\x07 has no such file"
    )
    assert reason(error) == r"a\x1b]0;owned\x07 has no such file"
