"""Explains in one line why a Spark job or query failed, with the setting that helps if there is one."""

import re
from pathlib import Path
from typing import Final

from rocket_spec.printable import printable

_LATE: Final = "Python worker failed to connect back"

_CAUSES: Final[list[tuple[str, str]]] = re.findall(
    r"^([^# \n].*)\n  (.+)$", Path(__file__).with_name("failure_causes.txt").read_text("utf-8"), re.MULTILINE
)
"""Patterns, and what to say of them."""

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
