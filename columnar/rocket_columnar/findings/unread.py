"""Findings on files that cannot be read, and what cannot be judged without them."""

from collections.abc import Iterable
from typing import Final

from rocket_columnar.findings.forms import Finding, finding
from rocket_columnar.store import Unreadable

_LOG: Final = (
    "whether units and entries point to its records",
    ("queue.dangling", "index.entry_dangling", "index.ahead_of_log", "checkpoint.ahead", "log.torn"),
)

_FILES: Final = ("checkpoint", "lock")

_HIDDEN: Final = {
    "index": ("whether the index has every key", ("index.missing_key", "index.name_order")),
    "consumequeue": ("whether the queues have every unit", ("queue.missing_unit", "queue.gap")),
    "consumequeue_ext": ("what units of its queue refer to", ("queue.tags_code",)),
    "checkpoint": ("the times that a recovery begins with", ()),
    "lock": ("whether a broker runs", ()),
}
"""By top folder of an unreadable file: the checks that need the file, in words, and the codes of their findings; `_LOG` for all others."""


def unread_findings(skipped: Iterable[tuple[str, str]]) -> list[Finding]:
    """One finding on each file or directory of a store that a listing left out as unreadable, or what has a checkpoint's name."""
    return [
        finding(
            "store.unreadable",
            name,
            None,
            f"cannot be read: {reason}; not checked: this part, and {_HIDDEN.get(name.partition('/')[0], _LOG)[0]}"
            + (": a broker refuses to start" if name in _FILES else ""),
        )
        for name, reason in skipped
        if isinstance(reason, Unreadable) or name == "checkpoint"
    ]


def hidden_codes(findings: Iterable[Finding]) -> frozenset[str]:
    """The codes of findings that may only follow from what could not be read."""
    names = (found.file for found in findings if found.code == "store.unreadable")
    return frozenset(code for name in names for code in _HIDDEN.get(name.partition("/")[0], _LOG)[1])
