"""Loads the reference with changed text, beside the true one and without a file of its own.

The changed module, and all that import it, are executed again from the installed package's source. They bring their own
`__import__`, so that they find each other. Every other module is the true one, errors among them: the adapter around
the mutant catches those.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import CodeType, ModuleType
from typing import Any, Final, cast

from rocket_conformance.reference_adapter import Library

_PACKAGE: Final = "rocket_reference"
_KEPT_CODE: Final = 512


def mutated(changes: Mapping[str, Sequence[tuple[str, str]]]) -> Library:
    """The reference with changes in the texts of modules.

    Raises:
        ValueError: when a text to be changed does not occur exactly once.
    """
    changed: dict[str, CodeType] = {}
    for module, pairs in changes.items():
        name = f"{_PACKAGE}.{module}"
        text = source_of(module)
        for old, new in pairs:
            if text.count(old) != 1:
                raise ValueError(f"{module}: {old!r} occurs {text.count(old)} times")
            text = text.replace(old, new)
        changed[name] = _code(name, text)
    return cast("Library", _Package(_Modules(changed)))


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


@lru_cache(_KEPT_CODE)
def _code(name: str, text: str | None = None) -> CodeType:
    text = text or source_of(name.removeprefix(_PACKAGE).removeprefix("."))
    return compile(text, f"<{name}>", "exec", dont_inherit=True)


@cache
def _imports() -> dict[str, frozenset[str]]:
    """By module, the modules of the reference that it imports."""
    paths = import_module(_PACKAGE).__path__
    names = [_PACKAGE, *(f"{_PACKAGE}.{item.name}" for item in iter_modules(paths))]
    return {name: frozenset(_imported(name)) & set(names) for name in names}


def _imported(name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source_of(name.removeprefix(_PACKAGE).removeprefix(".")))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _affected(name: str) -> frozenset[str]:
    """A module, and all that import it, the package among them."""
    found = {name}
    while more := {other for other, imports in _imports().items() if imports & found} - found:
        found |= more
    return frozenset(found)


class _Modules:
    """The modules of one mutant, executed when they are first imported."""

    def __init__(self, changed: Mapping[str, CodeType]) -> None:
        self._changed = changed
        self._affected = frozenset[str]().union(*map(_affected, changed))
        self._modules: dict[str, ModuleType] = {}

    def get(self, name: str) -> ModuleType:
        """The module, its package's attribute set as an import does."""
        if name not in self._affected:
            return import_module(name)
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
        if name.partition(".")[0] != _PACKAGE:
            return builtins.__import__(name, globals_, locals_, fromlist or (), level)
        module = self.get(name)
        for item in fromlist or ():
            if not hasattr(module, item):  # a submodule
                setattr(module, item, self.get(f"{name}.{item}"))
        return module


class _Package:
    """The package's face: what is asked for by name comes from its own module, which is executed only then."""

    def __init__(self, modules: _Modules) -> None:
        self._modules = modules

    def __getattr__(self, name: str) -> object:
        true = getattr(import_module(_PACKAGE), name)
        found = getattr(self._modules.get(true.__module__), name)
        setattr(self, name, found)
        return found
