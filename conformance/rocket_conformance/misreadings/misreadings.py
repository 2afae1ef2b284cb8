"""Misreadings: the reference with one line misread, from the catalogue's texts."""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pkgutil import iter_modules
from types import CodeType, ModuleType
from typing import Any, Final, cast

from rocket_conformance.reference_adapter import Library, ReferenceAdapter
from rocket_conformance.transport import Handler, Transport, open_handler

_PACKAGE: Final = "rocket_reference"
_KEPT_CODE: Final = 512
_KEPT_LIBRARIES: Final = 160


def mutated(changes: Mapping[str, Sequence[tuple[str, str]]]) -> Library:
    """The reference with changes in the texts of modules.

    Raises ValueError: when a text to be changed does not occur exactly once.
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

    Raises ValueError: when there is no such module, or only compiled.
    """
    name = f"{_PACKAGE}.{module}" if module else _PACKAGE
    spec = find_spec(name)
    text = cast("Any", spec.loader).get_source(name) if spec and spec.loader else None
    if not isinstance(text, str):
        raise ValueError(f"no source of {name}")
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


# --- mutant -------------------------------------------------------------------------------------------

_WATCH: Final = "_cycle_watch"

_ENDLESS: Final = (
    "        self._steps += 1\n",
    "        self._steps += 1\n        if hits > 1 << 16:\n            raise UnspecifiedError('the walk never ends')\n",
)
"""A change that stops endless walks: several misreadings together can cause one."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong implementation: one clause, read wrongly."""

    name: str  # what it does wrong, in words joined by hyphens; unique
    clause: str  # the clause that it misreads
    module: str  # the module of `rocket_reference` that is changed
    old: str  # text that occurs once in it
    new: str  # what it becomes
    also: tuple[tuple[str, str], ...] = ()  # further changes of that module that the same misreading makes
    # whether reports look for it although its clause's own cases do not all notice it alone
    cause_only: bool = False

    @property
    def words(self) -> str:
        """Its name as a sentence has it."""
        return self.name.replace("-", " ")

    def library(self) -> Library:
        """The reference with this mistake in it.

        Raises ValueError: when a text to be changed does not occur exactly once.
        """
        return library_of(frozenset((self,)))

    def handler(self) -> Handler:
        """It as an adapter in this process."""
        return ReferenceAdapter(self.library(), name=self.name)

    def open(self) -> AbstractContextManager[Transport]:
        """It as an implementation under test, in this process."""
        return open_handler(self.handler())


@lru_cache(_KEPT_LIBRARIES)
def library_of(misreadings: frozenset[Mutant]) -> Library:
    """The reference with all these mistakes in it; the last ones that were asked for are kept.

    Raises ValueError: when a text to be changed does not occur exactly once: two of them may change the same.
    """
    changes: dict[str, list[tuple[str, str]]] = {_WATCH: [_ENDLESS]}
    for mutant in sorted(misreadings, key=lambda item: item.name):
        changes.setdefault(mutant.module, []).extend(((mutant.old, mutant.new), *mutant.also))
    return mutated(changes)


# --- catalogue ----------------------------------------------------------------------------------------

_PARTS: Final = (
    *("index_bytes", "index_puts", "index_selects", "service"),
    *("queue_units", "queue_restarts", "log", "ports"),
)


def _read(part: str) -> Iterator[Mutant]:
    text = files("rocket_conformance.misreadings").joinpath(f"{part}.txt").read_text("utf-8")
    for paragraph in text.split("\n\n"):
        heading, _, changes = paragraph.partition("\n")
        if heading.startswith("#"):
            continue
        name, clause, module, *cause_only = heading.split()
        (old, new), *also = (_change(lines) for lines in changes.split("\n&\n"))
        yield Mutant(name, clause, module, old, new, tuple(also), cause_only=bool(cause_only))


def _change(text: str) -> tuple[str, str]:
    lines = text.rstrip("\n").split("\n")
    old, new = ([line for line in lines if line[0] in marks] for marks in ("-<", "+>"))
    return _side(old), _side(new)


def _side(lines: list[str]) -> str:
    text = "\n".join(line[1:] for line in lines)
    return f"{text}\n" if lines and lines[0][0] in "-+" else text


MISREADINGS: Final = tuple(mutant for part in _PARTS for mutant in _read(part))
"""Everything that reports look for as a cause, in the order of the format's parts; names are unique."""

MUTANTS: Final = tuple(mutant for mutant in MISREADINGS if not mutant.cause_only)
"""Wrong implementations that misread one clause each: that clause's own cases notice each of them alone."""

OF_STORES: Final = tuple(_read("stores"))
"""What a store shows at once, in addition to the others."""
