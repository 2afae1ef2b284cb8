"""rocketspec: format specification and conformance suite for RocketMQ 4.9.3's store files.

Each name is loaded when it is first used; importing this package is nearly free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocket_columnar.audit import audit
    from rocket_columnar.query import query
    from rocket_columnar.rebuild import rebuild
    from rocket_columnar.store import find_files as open_store
    from rocket_spec.errors import FormatError, InvalidError, MalformedError, UsageError

    from rocketspec._decode import decode
    from rocketspec._implementation import conform

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
    "open_store",
    "query",
    "rebuild",
]


if not TYPE_CHECKING:  # a type checker would take every name for one of the package

    def __getattr__(name: str) -> object:
        from rocketspec._lazy import load

        value = globals()[name] = load(name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
