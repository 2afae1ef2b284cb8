"""rocketspec: format specification and conformance suite for RocketMQ 4.9.3's store files.

Each name is loaded when it is first used; importing this package is nearly free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocket_columnar.audit import audit
    from rocket_columnar.describe import diff, digest
    from rocket_columnar.describe import look_at as inspect
    from rocket_columnar.query import query
    from rocket_columnar.rebuild import rebuild
    from rocket_columnar.restart import restart
    from rocket_columnar.store import find_files as open_store
    from rocket_spec.errors import FormatError, InvalidError, MalformedError, UsageError

    from rocketspec._decode import decode, read_table
    from rocketspec._implementation import conform
    from rocketspec._search import explain, find

    __version__: str

__all__ = [
    "FormatError",
    "InvalidError",
    "MalformedError",
    "UsageError",
    "__version__",
    "audit",
    "conform",
    "decode",
    "diff",
    "digest",
    "explain",
    "find",
    "inspect",
    "open_store",
    "query",
    "read_table",
    "rebuild",
    "restart",
]


if not TYPE_CHECKING:  # a type checker would take every name for one of the package

    def __getattr__(name: str) -> object:
        from rocketspec._lazy import load

        value = globals()[name] = load(name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
