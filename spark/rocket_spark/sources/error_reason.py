"""What went wrong, in one line: the last word of the Python traceback that Spark wraps into its own errors."""

from __future__ import annotations

import re
from typing import Final

from rocket_spec.printable import printable

__all__ = ["reason"]

_SPARKS: Final = re.compile(
    r"\[[A-Z_.]+\]|org\.apache\.|Job aborted|Traceback|cannot access local variable 'reader'"
)
"""What Spark's own errors begin with; the last one is what PySpark stumbles over where a stream's source refuses."""

_RAISED: Final = re.compile(r"^\s*(?:[\w.]+\.)?(?:\w*(?:Error|Exception|Interrupt)): (.+)$")


def reason(error: BaseException) -> str:
    """The one line that says which option, file or schema was wrong, without Spark's and Java's stacks; control characters are escaped."""
    text = str(error)
    told = [match[1].strip() for line in text.splitlines() if (match := _RAISED.match(line))]
    ours = [line for line in told if not _SPARKS.match(line)]
    return printable(([text.strip().partition("\n")[0], *told[-1:], *ours[-1:]])[-1])
