"""The compiled loops forced on damaged files, with a forbidden page after each of their buffers, beside the path without them.

`fuzz_run` makes the inputs. A loop that reads or writes past a buffer ends the process with a signal. Pieces of the log are
small, so that records cross their ends.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from guarded_memory import GuardedNumpy, guarded
from input_fuzz import TARGETS
from rocket_columnar.decode import decode
from rocket_columnar.log import LogStretch, TopicNames
from rocket_columnar.store import Source, StoreFile, open_reader, placed_file
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import Geometry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["KINDS", "check", "guards"]

_GEOMETRY: Final = Geometry(7, 20)
_DECODE: Final = "rocket_columnar.decode"
_GUARDED: Final = (
    *(f"{_DECODE}.large_{name}" for name in ("index", "log", "log_batch", "log_late_columns", "log_window")),
    "rocket_columnar.log.compiled_walk", "rocket_columnar.kernels.distinct_strings",
)  # fmt: skip
"""Modules whose arrays go to compiled loops."""
_SURVEYS: Final = {
    name: resolve_name(f"rocket_columnar.audit.file_survey:survey_{name}") for name in ("queue", "index")
}
_PIECE: Final = 512


@contextmanager
def guards() -> Iterator[None]:
    """Compiled loops serve the smallest files, on guarded memory."""
    memory = GuardedNumpy()

    with ExitStack() as stack:
        for module in _GUARDED:
            stack.enter_context(patch(f"{module}.np", memory))
        stack.enter_context(patch(f"{_DECODE}.log_rows.COMPILED_FROM", 0))
        stack.enter_context(patch(f"{_DECODE}.index_rows.COMPILED_FROM", 0))
        for name in ("_PIECE", "_LARGE_PIECE"):
            stack.enter_context(patch(f"{_DECODE}.large_log.{name}", _PIECE))
        stack.enter_context(
            patch(f"{_DECODE}.large_log_batch._memory", lambda count, kind: guarded(count, kind, 0xA5))
        )
        yield


@contextmanager
def _unguarded() -> Iterator[None]:
    """No compiled loop, whatever the size."""
    with (
        patch(f"{_DECODE}.log_rows.COMPILED_FROM", 1 << 60),
        patch(f"{_DECODE}.index_rows.COMPILED_FROM", 1 << 60),
    ):
        yield


def _placed(name: str, data: bytes) -> StoreFile:
    file = placed_file(name, source=Source.of_bytes(name, data))
    assert isinstance(file, StoreFile)
    return file


def _decoded(name: str, data: bytes, *, compiled: bool) -> Any:
    file = _placed(name, data)
    gaps: list[Any] = []
    rows: dict[str, list[Any]] = {}
    with guards() if compiled else _unguarded():
        try:
            for table, batch in decode(
                [file], geometry=_GEOMETRY if file.kind == "index" else None, on_gap=gaps.append
            ):
                rows.setdefault(table, []).extend(batch.to_pylist())
        except (FormatError, UsageError) as error:
            return rows, gaps, str(error)
    return rows, gaps


def _requests(data: bytes, *, compiled: bool) -> Any:
    """Dispatch requests by column, over all batches, and gaps."""
    gaps: list[Any] = []
    columns: dict[str, list[Any]] = {}
    with guards() if compiled else _unguarded(), open_reader("", Source.of_bytes("log", data)) as reader:
        stretch = LogStretch(reader, 0, TopicNames(), check_crc=True, compiled=compiled)
        for batch in stretch.run(0, reader.size, exact=True, on_gap=gaps.append):
            for name in type(batch).dtypes():
                columns.setdefault(name, []).extend(getattr(batch, name).tolist())
            columns.setdefault("key_hash", []).extend(batch.key_hash.tolist())
    return columns, gaps


def _survey(name: str, data: bytes, *, compiled: bool) -> Any:
    file = _placed(name, data)
    try:
        if file.kind == "queue":
            found: Any = _SURVEYS["queue"](file, compiled=compiled)
        else:
            found = _SURVEYS["index"](file, _GEOMETRY, live=False, last=True, compiled=compiled)
    except FormatError as error:
        return str(error)
    return [getattr(found, one).tolist() if one in ("low", "high", "blocks") else getattr(found, one)
            for one in type(found).__dataclass_fields__]  # fmt: skip


_LOG: Final = f"commitlog/{0:020}"
_INDEX: Final = "index/20260101000000000"
_QUEUE: Final = f"consumequeue/T/0/{0:020}"
KINDS: Final[dict[str, tuple[tuple[bytes, ...], Callable[..., Any]]]] = {
    "decode log": (TARGETS["decode log"].samples, partial(_decoded, _LOG)),
    "decode index": (TARGETS["decode index"].samples, partial(_decoded, _INDEX)),
    "requests": (TARGETS["decode log"].samples, _requests),
    "survey queue": (TARGETS["decode queue"].samples, partial(_survey, _QUEUE)),
    "survey index": (TARGETS["decode index"].samples, partial(_survey, _INDEX)),
}
"""By name, samples and a function of bytes that has a compiled path."""


def check(name: str, data: bytes) -> str | None:
    """How the compiled path differs from the other one, if it does."""
    run = KINDS[name][1]
    plain, fast = (run(data, compiled=compiled) for compiled in (False, True))
    return None if repr(plain) == repr(fast) else f"without: {plain!r:.2000}\ncompiled: {fast!r:.2000}"
