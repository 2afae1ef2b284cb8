"""Loads the reference with changed text, beside the true one and without a file of its own.

The modules are executed anew from the installed package's source; an `import` in them finds each other, for
they bring their own `__import__`. Errors stay the true ones: the adapter around them catches those.
"""

from __future__ import annotations

import builtins
from functools import cache
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocket_conformance.reference_adapter import Library

__all__ = ["mutated", "source_of"]

_PACKAGE: Final = "rocket_reference"
_SHARED: Final = f"{_PACKAGE}.errors"


def mutated(module: str, changes: Sequence[tuple[str, str]]) -> Library:
    """The reference with changes in one module's text.

    Raises:
        ValueError: when a text to be changed does not occur exactly once.
    """
    name = f"{_PACKAGE}.{module}"
    text = source_of(module)
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{module}: {old!r} occurs {text.count(old)} times")
        text = text.replace(old, new)
    changed = compile(text, f"<mutant of {name}>", "exec", dont_inherit=True)
    return cast("Library", _Modules({name: changed}).get(_PACKAGE))


def source_of(module: str) -> str:
    """The text of a module of the reference, `index_file`; the package's own for the empty string.

    Raises:
        ValueError: when there is no such module, or only compiled.
    """
    name = f"{_PACKAGE}.{module}" if module else _PACKAGE
    spec = find_spec(name)
    text = cast("Any", spec.loader).get_source(name) if spec and spec.loader else None
    if not isinstance(text, str):
        raise ValueError(f"no source of {name}")  # noqa: TRY004 - the name is what is wrong
    return text


@cache
def _code(name: str) -> CodeType:
    text = source_of(name.removeprefix(_PACKAGE).removeprefix("."))
    return compile(text, f"<{name}>", "exec", dont_inherit=True)


class _Modules:
    """The modules of one mutant, executed when they are first imported."""

    def __init__(self, changed: Mapping[str, CodeType]) -> None:
        self._changed = changed
        self._modules: dict[str, ModuleType] = {}

    def get(self, name: str) -> ModuleType:
        """The module, its package's attribute set as an import does."""
        module = self._modules.get(name)
        if module is None:
            module = self._modules[name] = ModuleType(name)
            module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
            exec(self._changed.get(name) or _code(name), module.__dict__)  # noqa: S102 - our own source
        return module

    def _import(
        self,
        name: str,
        globals_: Mapping[str, object] | None = None,
        locals_: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if name.partition(".")[0] != _PACKAGE or name == _SHARED:
            return builtins.__import__(name, globals_, locals_, fromlist or (), level)
        module = self.get(name)
        for item in fromlist or ():
            if not hasattr(module, item):  # a submodule
                setattr(module, item, self.get(f"{name}.{item}"))
        return module
