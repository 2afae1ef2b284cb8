"""What went wrong, in one line: the last word of the Python traceback that Spark wraps into its own errors."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["reason"]

_RAISED: Final = re.compile(r"^\s*(?:[\w.]+\.)?(?:\w*(?:Error|Exception|Interrupt)): (.+)$")


def reason(error: BaseException) -> str:
    """The one line that says which option, file or schema was wrong, without Spark's and Java's stacks."""
    text = str(error)
    told = [match[1] for line in text.splitlines() if (match := _RAISED.match(line))]
    python = [line for line in told if not line.startswith(("Traceback", "org.apache", "Job aborted", "["))]
    return (python[-1] if python else text.strip().partition("\n")[0]).strip()
