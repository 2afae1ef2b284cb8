"""Where the names of the package are defined; `rocketspec.__init__` loads each on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from rocketspec._extras import missing_extra

__all__ = ["load"]

_HOMES: Final = {
    "FormatError": ("rocket_spec.errors", "FormatError"),
    "InvalidError": ("rocket_spec.errors", "InvalidError"),
    "MalformedError": ("rocket_spec.errors", "MalformedError"),
    "UsageError": ("rocket_spec.errors", "UsageError"),
    "audit": ("rocket_columnar.audit", "audit"),
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


def load(name: str) -> object:
    """The value of `rocketspec.NAME`.

    Raises:
        AttributeError: the package has no such name.
        ModuleNotFoundError: it needs an extra that is not installed; the message gives the command that installs it.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version("rocketspec")
    if name not in _HOMES:
        raise AttributeError(f"module 'rocketspec' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        message = missing_extra(error, f"rocketspec.{name}")
        if message is None:
            raise
        raise ModuleNotFoundError(message, name=error.name) from None
