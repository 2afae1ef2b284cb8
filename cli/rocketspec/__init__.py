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

_MODULES = {
    "rocket_spec.errors": ("FormatError", "InvalidError", "MalformedError", "UsageError"),
    "rocket_columnar.describe": ("diff", "digest", "inspect"),
    "rocket_columnar.query": ("query",),
    "rocket_columnar.rebuild": ("rebuild",),
    "rocket_columnar.report": ("audit",),
    "rocket_columnar.restart": ("restart",),
    "rocket_columnar.store": ("open_store",),
    "rocketspec._decode": ("decode", "read_table"),
    "rocketspec._implementation": ("conform",),
    "rocketspec._search": ("explain", "find"),
}
"""The names by the modules that define them."""
_OTHER_NAMES = {"inspect": "look_at", "open_store": "find_files"}
"""Their names in those modules, where they differ."""


if not TYPE_CHECKING:  # a type checker would take every name for one of the package

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name == "__version__":
            return import_module("importlib.metadata").version("rocketspec")
        module = next((module for module, names in _MODULES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module 'rocketspec' has no attribute {name!r}")
        try:
            value = globals()[name] = getattr(import_module(module), _OTHER_NAMES.get(name, name))
        except ModuleNotFoundError as error:
            message = import_module("rocketspec._extras").missing_extra(error, f"rocketspec.{name}")
            if message is None:
                raise
            raise ModuleNotFoundError(message, name=error.name) from None
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
