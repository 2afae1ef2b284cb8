"""Explains in one line why a Spark job or query failed, with the setting that helps if there is one."""

import re
from typing import Final

from rocket_spec.printable import printable

_LATE: Final = "Python worker failed to connect back"

_CAUSES: Final = (
    (
        r"PYTHON_VERSION_MISMATCH|Python in worker has different version[^\d]*([\d.]+)[^\d]*([\d.]+)",
        "the workers run another Python than the driver: set PYSPARK_PYTHON to the same version everywhere",
    ),
    (
        r'Cannot run program "([^"]+)"',
        "a worker has no Python at {0}: set PYSPARK_PYTHON to one that every worker has",
    ),
    (
        r"ModuleNotFoundError: No module named '([^']+)'",
        "a worker lacks the Python module {0}: install it there, or ship an environment (docs/spark.md)",
    ),
    (
        r"(?m)^(?:[\w.]*\.)?(?:_Array|Arrow)?MemoryError\b",
        "a Python worker ran out of memory: raise its limit, spark.executor.pyspark.memory, or lower spark.executor.cores",
    ),
    (
        r"InvalidClassException[^\n]*",
        "driver and cluster run different versions of Spark: use the cluster's version of PySpark",
    ),
    (
        r"spark\.driver\.maxResultSize",
        "the results of the tasks exceed spark.driver.maxResultSize: raise it",
    ),
    (
        _LATE,
        "a Python worker did not start within the 10 seconds that Spark allows: the machine is too busy; run it again",
    ),
    (
        r"Python worker exited unexpectedly|PYTHON_WORKER_EXITED",
        (
            "a Python worker died, most often killed for its memory: "
            "raise spark.executor.memoryOverhead, or lower spark.executor.cores"
        ),
    ),
    (
        (
            r"(?:Container|Executor)[^\n]*(?:exit code|exit status|exited with code|Exit status)[^\n]*?137|exceeding (?:physical )?memory limits"
            r"|OOMKilled"
        ),
        "an executor was killed for its memory: raise spark.executor.memoryOverhead",
    ),
    (
        r"ExecutorLostFailure[^\n]*",
        "an executor was lost more often than spark.task.maxFailures allows: look at the log of that worker",
    ),
    (
        r"OutOfMemoryError(?:: ([\w ]+))?",
        "the JVM ran out of memory: raise spark.driver.memory with a local master, else spark.executor.memory",
    ),
    (
        r"No space left on device",
        "a worker's disk is full: point spark.local.dir and TMPDIR to one with space",
    ),
)
"""Patterns in the text of Spark's errors, the most telling first, and what to say of them."""

_RAISED: Final = re.compile(
    r"^\s*(?:Caused by: |: )?(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE
)

_SPARKS: Final = re.compile(
    r"\[[A-Z_.]+\]|org\.apache\.|Job aborted|Traceback|cannot access local variable 'reader'"
)
"""Marks of Spark's own errors; the last one appears if the source of a stream refuses."""

_LINE: Final = re.compile(r"^\s*(?:[\w.]+\.)?(?:\w*(?:Error|Exception|Interrupt)): (.+)$")

_OF_PY4J: Final = re.compile(r"^An error occurred while calling ")


def cause_of(text: str) -> str:
    """The cause of a failed job, one line, by the text of the error with the stack traces in it."""
    for pattern, words in _CAUSES:
        found = re.search(pattern, text)
        if found is not None:
            return words.format(*found.groups(""))
    before = text.partition("Driver stacktrace")[0]
    raised = [f"{kind}: {told.strip()}" for kind, told in _RAISED.findall(before)]
    first = text.strip().partition("\n")[0]
    if _OF_PY4J.match(first):
        return raised[-1] if raised else "Spark gave no reason; look at the log of its driver"
    if raised and raised[-1].partition(": ")[2] not in first:
        return f"{first} ({raised[-1]})"
    return first


def is_late(error: BaseException) -> bool:
    """Whether a Python worker of a stream did not start in time, before its source could answer."""
    return _LATE in str(error)


def reason(error: BaseException) -> str:
    """The one line that says which option, file or schema was wrong, without Spark's and Java's stacks; control characters are escaped."""
    text = str(error)
    if is_late(error):
        return cause_of(text)
    told = [match[1].strip() for line in text.splitlines() if (match := _LINE.match(line))]
    ours = [line for line in told if not _SPARKS.match(line)]
    return printable(([text.strip().partition("\n")[0], *told[-1:], *ours[-1:]])[-1])
