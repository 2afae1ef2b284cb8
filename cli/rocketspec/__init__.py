"""rocketspec: format specification and conformance suite for RocketMQ 4.9.3's store files.

Each name is loaded when it is first used; importing this package is nearly free.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""`typing.TYPE_CHECKING` for type checkers; `python -m rocketspec` has the working directory on its path until here."""

if TYPE_CHECKING:
    from rocket_columnar.describe import diff, digest
    from rocket_columnar.describe import look_at as inspect
    from rocket_columnar.query import query
    from rocket_columnar.rebuild import rebuild
    from rocket_columnar.report import audit
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

_HOMES = {
    "FormatError": ("rocket_spec.errors", "FormatError"),
    "InvalidError": ("rocket_spec.errors", "InvalidError"),
    "MalformedError": ("rocket_spec.errors", "MalformedError"),
    "UsageError": ("rocket_spec.errors", "UsageError"),
    "audit": ("rocket_columnar.report", "audit"),
    "conform": ("rocketspec._implementation", "conform"),
    "decode": ("rocketspec._decode", "decode"),
    "diff": ("rocket_columnar.describe", "diff"),
    "digest": ("rocket_columnar.describe", "digest"),
    "explain": ("rocketspec._search", "explain"),
    "find": ("rocketspec._search", "find"),
    "inspect": ("rocket_columnar.describe", "look_at"),
    "open_store": ("rocket_columnar.store", "find_files"),
    "query": ("rocket_columnar.query", "query"),
    "read_table": ("rocketspec._decode", "read_table"),
    "rebuild": ("rocket_columnar.rebuild", "rebuild"),
    "restart": ("rocket_columnar.restart", "restart"),
}
"""Where the names are defined."""


if not TYPE_CHECKING:  # a type checker would take every name for one of the package

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name == "__version__":
            return import_module("importlib.metadata").version("rocketspec")
        if name not in _HOMES:
            raise AttributeError(f"module 'rocketspec' has no attribute {name!r}")
        module, attribute = _HOMES[name]
        try:
            value = globals()[name] = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            message = import_module("rocketspec._extras").missing_extra(error, f"rocketspec.{name}")
            if message is None:
                raise
            raise ModuleNotFoundError(message, name=error.name) from None
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
