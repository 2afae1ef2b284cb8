"""Compiled code that an earlier start kept, loaded without Numba, whose import takes longer than most of the work.

Numba compiles a loop for the types of its arguments to an object file, which is whole in itself but for functions of Python
and of three extension modules of Numba's. Here it is kept beside Numba's own cache, and a later start has LLVM load it:
`llvmlite.binding` and those modules, not the package `numba`. What the code expects of its process is no public part of Numba,
so this is done only with the versions in `TESTED`, on Linux with x86-64, and without settings of Numba's. The file holds a stamp of
all that the code depends on. Where anything differs, or a file is missing or damaged, Numba does it all as if nothing were kept.

The parts of Numba that this follows: `core/compiler.py` (`CompileResult._rebuild`), `core/codegen.py` (`JITCPUCodegen`),
`core/cpu.py` (`get_executable`), `core/base.py` (`_load_global_helpers`) and `core/runtime/nrt.py` (`_Runtime.initialize`).
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import json
import os
import platform
import sys
from functools import cache
from importlib import machinery, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rocket_spec import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["TESTED", "Code", "fingerprint", "keep", "load", "sources_hash"]

TESTED: Final = frozenset({"0.68.1"})
"""Versions of Numba whose code is kept."""
_FORMAT: Final = 1
"""Number of this form of files: eight bytes, a hash of all others, a line of JSON, the object file."""
_HASH: Final = 8
_FLAGS: Final = 0x503
"""NumPy's flags of an array that its type in Numba depends on: contiguous either way, aligned, writeable."""
_MODULES: Final = ("numba._dynfunc", "numba._helperlib", "numba.core.runtime._nrt_python")
_DOUBTS: Final = (AttributeError, ImportError, KeyError, OSError, RuntimeError, ValueError)
"""Errors after which Numba does it all."""
_KNOWN: Final = frozenset({"memcmp", "memcpy", "memmove", "memset", "pread"})
"""Functions of the system's library that code may call; a name that nothing resolves would end the process."""


class Code(NamedTuple):
    """A compiled loop.

    Attributes:
        binary: the object file.
        entry: its function that takes Python's values.
        environments: its pointers to what Numba calls an environment; none of these holds anything.
        needs: what it calls or reads outside of itself.
    """

    binary: bytes
    entry: str
    environments: tuple[str, ...]
    needs: tuple[str, ...]


def fingerprint(values: Iterable[Any]) -> str | None:
    """The types of arguments, at least as finely told apart as Numba does; None if it is not known for one."""
    try:
        return ",".join([_kind(value) for value in values])
    except (AttributeError, KeyError):
        return None


def _kind(value: Any) -> str:
    kind = type(value)
    if kind is np.ndarray:
        dtype = value.dtype
        return f"{_NAMES.get(dtype) or _named(dtype)}[{value.ndim}.{value.flags.num & _FLAGS}]"
    if kind is int:
        if -(1 << 63) <= value < 1 << 63:
            return "i"
        raise KeyError(value)
    if isinstance(value, tuple):
        return f"{_TUPLES[kind] if kind in _TUPLES else _tuple_name(kind)}({','.join([_kind(item) for item in value])})"
    if isinstance(value, np.generic):
        return f"g{_NAMES.get(value.dtype) or _named(value.dtype)}"
    return _PLAIN[kind]


def _tuple_name(kind: Any) -> str:
    """The name of a class of named tuples: its module, its own name and its fields."""
    return _TUPLES.setdefault(kind, f"{kind.__module__}.{kind.__qualname__}{kind._fields}")


_PLAIN: Final[dict[Any, str]] = {bool: "b", float: "f"}
_TUPLES: Final[dict[Any, str]] = {tuple: ""}
_NAMES: Final[dict[np.dtype[Any], str]] = {}


def _named(dtype: np.dtype[Any]) -> str:
    """Numbers, and records of numbers."""
    if dtype.fields:
        if dtype.isalignedstruct or dtype.metadata:
            raise KeyError(dtype)
        return f"{dtype.descr}{dtype.itemsize}"  # not remembered: equal ones may differ in alignment
    if dtype.kind not in "biuf":
        raise KeyError(dtype)
    return _NAMES.setdefault(dtype, dtype.str)


def load(function: Callable[..., Any], types: str) -> Callable[..., Any] | None:
    """The compiled form of a function for arguments with this fingerprint, if it was kept by a start just like this one."""
    with contextlib.suppress(*_DOUBTS):
        stamp = _stamp(function)
        if stamp is not None:
            for path in _places(function, types):
                code = _read(path, stamp, types)
                if code is not None:
                    return _loaded(function, code)
    return None


def keep(function: Callable[..., Any], types: str, code: Code) -> None:
    """Keeps compiled code for later starts, if they could load it; a folder that cannot be written to keeps nothing."""
    with contextlib.suppress(*_DOUBTS):
        stamp = _stamp(function)
        if stamp is None or not all(map(_is_known, code.needs)):
            return
        head = code._asdict() | {"stamp": stamp, "types": types}
        del head["binary"]
        data = json.dumps(head).encode() + b"\n" + code.binary
        content = util.source_hash(data) + data
        for path in _places(function, types):
            with contextlib.suppress(OSError):
                _write(path, content)
                return


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.tmp.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        written.write_bytes(content)
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)


def _is_known(name: str) -> bool:
    return name.startswith(("Py", "_Py")) or name in _KNOWN or name in _symbols()


def _read(path: Path, stamp: str, types: str) -> Code | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_HASH:]
    if util.source_hash(data) != content[:_HASH]:
        return None
    line, _, binary = data.partition(b"\n")
    head = json.loads(line)
    if head["stamp"] != stamp or head["types"] != types:
        return None
    return Code(binary, head["entry"], tuple(head["environments"]), tuple(head["needs"]))


def _loaded(function: Callable[..., Any], code: Code) -> Callable[..., Any] | None:
    """A function of Python around the code; each has an engine of its own, so that no name can mean that of another."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    triple = llvm.get_process_triple()
    options = {"cpu": llvm.get_host_cpu_name(), "reloc": "static", "codemodel": "jitdefault", "jit": True}
    machine = llvm.Target.from_triple(triple).create_target_machine(**options)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{triple}"'), machine)
    for name in code.needs:
        address = _symbols().get(name)
        if address is not None:
            llvm.add_symbol(name, address)
        elif llvm.address_of_symbol(name) is None:
            return None
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.binary))
    engine.finalize_object()
    dynfunc = _modules()["numba._dynfunc"]
    environment = dynfunc.Environment(function.__globals__)
    for name in code.environments:
        ctypes.c_void_p.from_address(engine.get_global_value_address(name)).value = id(environment)
    made: Callable[..., Any] = dynfunc.make_function(
        sys.modules[function.__module__],
        function.__name__,
        function.__doc__ or "",
        engine.get_function_address(code.entry),
        environment,
        (engine,),
    )
    return made


@cache
def _symbols() -> dict[str, int]:
    """Addresses of what code may use of Python and of Numba's extension modules."""
    modules = _modules()
    found = {
        f"numba_{name}": address
        for module in ("numba._helperlib", "numba._dynfunc")
        for name, address in modules[module].c_helpers.items()
    }
    runtime = modules["numba.core.runtime._nrt_python"]
    runtime.memsys_use_cpython_allocator()
    for name, address in runtime.c_helpers.items():
        found[name if name.startswith("_") else f"NRT_{name}"] = address
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            found[f"PyExc_{name}"] = id(value)
    return found | {"_Py_NoneStruct": id(None)}


@cache
def _modules() -> dict[str, Any]:
    """Numba's extension modules under their own names, as Numba finds them too if it is imported later."""
    found = {}
    for name in _MODULES:
        module = sys.modules.get(name)
        if module is None:
            place = _numba().joinpath(*name.split(".")[1:])
            paths = [place.with_name(f"{place.name}{suffix}") for suffix in machinery.EXTENSION_SUFFIXES]
            path = next((path for path in paths if path.exists()), place)
            spec = util.spec_from_file_location(name, path)
            if spec is None or spec.loader is None:
                raise ImportError(name)
            module = util.module_from_spec(spec)
            spec.loader.exec_module(module)
            module = sys.modules.setdefault(name, module)
        found[name] = module
    return found


@cache
def _numba() -> Path:
    """The folder of the package."""
    spec = util.find_spec("numba")
    if spec is None or spec.origin is None:
        raise ImportError("numba")
    return Path(spec.origin).parent


@cache
def _machine() -> list[object] | None:
    """All that code depends on beside its source; None if there is a doubt."""
    settings = [name for name in os.environ if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"]
    if settings or Path(".numba_config.yaml").exists() or sys.implementation.name != "cpython":
        return None
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    version = (_numba() / "_version.py").read_text("utf-8")
    if not any(f'"version": "{tested}"' in version for tested in TESTED):
        return None
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    names = [llvmlite.__version__, np.__version__, sys.version, llvm.get_host_cpu_name(), features]
    return [_FORMAT, util.source_hash(version.encode()).hex(), *names]


@cache
def sources_hash(path: str) -> str:
    """A hash of the modules of compiled loops, of the one with this function, and of the constants that they take over."""
    sources = {*Path(__file__).parent.glob("*.py"), Path(path), Path(layout.__file__)}
    texts = [f"{source.name}\n".encode() + source.read_bytes() for source in sorted(sources)]
    return util.source_hash(b"\0".join(texts)).hex()


def _stamp(function: Callable[..., Any]) -> str | None:
    machine = _machine()
    return None if machine is None else json.dumps([*machine, sources_hash(function.__code__.co_filename)])


def _places(function: Callable[..., Any], types: str) -> list[Path]:
    """The files that may hold the code: it is written to the first that can be written."""
    source = Path(function.__code__.co_filename)
    own = f"{function.__module__}.{function.__qualname__}"
    name = f"{own}.{sys.implementation.cache_tag}.{util.source_hash(types.encode()).hex()}.kept"
    checkout = util.source_hash(str(source.parent).encode()).hex()
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given, f"kept_{checkout}", name)]
    places = [source.parent / "__pycache__" / name]
    home = os.environ.get("HOME")
    user = os.environ.get("XDG_CACHE_HOME") or (home and f"{home}/.cache")
    return [*places, Path(user, "rocketspec", checkout, name)] if user else places
