"""Makes a failing list small: runs of operations go, then files; Hypothesis picks simpler values; keys lose characters."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from rocket_conformance.cases import Case, Observation
from rocket_conformance.counterexamples.healthy import healthy_images
from rocket_conformance.files import FileImage
from rocket_conformance.judging import Judgement
from rocket_conformance.protocol import OPERATIONS, Op

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase
    from hypothesis.strategies import SearchStrategy

_MOST_TRIES: Final = 4_000
_SIMPLE_I64: Final = ("0", "1", "100", "1000", "-1", "1700000000000")
_SIMPLE_I32: Final = (0, 1, 2, 10, 32, 100)
_SIMPLE_KEYS: Final = ("a", "b")
_MOST_UNUSUAL: Final = 4
_SIMPLE_SIZES: Final = {
    "hash_slot_num": (1, 2),
    "index_num": (2, 4, 12),
    "file_size": (40, 60, 100),
}
"""Smaller ones make a file another case altogether: no slots, no room, files of one unit."""


class _Enough(BaseException):
    """The time is up."""


def _simpler(kind: str, value: Any) -> list[Any]:
    """Values to try for a field, the simplest first, its own last."""
    candidates: Sequence[Any] = ()
    if kind == "i64":
        candidates = [text for text in _SIMPLE_I64 if len(text) <= len(value)]
    elif kind == "i32":
        candidates = [number for number in _SIMPLE_I32 if number < value]
    elif kind == "bool":
        candidates = (False,)
    elif kind in {"key", "key?"}:
        candidates = [*([None] if kind == "key?" else []), *_SIMPLE_KEYS, *_parts(value)]
    elif kind == "i64[]":
        candidates = ([],)
    if value in candidates:
        candidates = candidates[: candidates.index(value)]
    return [*candidates, value]


def _parts(text: str | None) -> list[str]:
    """Parts of a key to try: its first unusual characters, each alone, and its halves, the shortest first."""
    if not text or len(text) < 2:
        return []
    unusual = [char for char in dict.fromkeys(text) if not (char.isascii() and char.isalnum())]
    middle = len(text) // 2
    parts = dict.fromkeys([*unusual[:_MOST_UNUSUAL], text[:middle], text[middle:]])
    return sorted((part for part in parts if part not in _SIMPLE_KEYS), key=len)


def _choices(op: Op) -> list[tuple[str, list[Any]]]:
    """The fields of an operation that have simpler values, and those."""
    operation = OPERATIONS[op["op"]]
    found: list[tuple[str, list[Any]]] = []
    for name, kind in {**operation.fields, **operation.optional}.items():
        if name in op:
            values = _simpler(kind, op[name])
            if name in _SIMPLE_SIZES:
                values = [*(size for size in _SIMPLE_SIZES[name] if size < op[name]), op[name]]
            if len(values) > 1:
                found.append((name, values))
    return found


def _strategy(template: Sequence[Op]) -> SearchStrategy[list[Op]]:
    """Lists of operations of the template, in any order, with simpler values."""
    from hypothesis import strategies  # noqa: PLC0415 - a second of start-up, and only where something failed

    choices: list[list[tuple[str, list[Any]]]] = [_choices(op) for op in template]

    @strategies.composite
    def edited(draw: Any) -> list[Op]:
        ops: list[Op] = []
        while draw(strategies.booleans()) and len(ops) < 2 * len(template):
            place: int = draw(strategies.integers(0, len(template) - 1))
            op: Op = dict(template[place])
            for name, values in choices[place]:
                op[name] = values[draw(strategies.integers(0, len(values) - 1))]
            ops.append(op)
        return ops

    return edited()


def _whole(template: Sequence[Op]) -> list[bool | int]:
    """The choices that draw the template itself: where Hypothesis starts from."""
    made: list[bool | int] = []
    for place, op in enumerate(template):
        made += [True, place, *(len(values) - 1 for _, values in _choices(op))]
    return [*made, False]


def _database(template: Sequence[Op], key: bytes) -> ExampleDatabase:
    from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes  # noqa: PLC0415

    database = InMemoryExampleDatabase()  # its secondary corpus: the primary one is taken as shrunk already
    database.save(key + b".secondary", choices_to_bytes(_whole(template)))
    return database


@contextmanager
def _hypothesis_elsewhere() -> Generator[None]:
    """Keeps Hypothesis from making `.hypothesis/` in the working directory."""
    from hypothesis.configuration import set_hypothesis_home_dir  # noqa: PLC0415

    with TemporaryDirectory(prefix="rocketspec-hypothesis-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)  # as the environment or the working directory has it


def shrink(
    failing: tuple[Case, Observation, Judgement],
    try_case: Callable[[Case], tuple[Case, Observation, Judgement] | None],
    clause_of: Callable[[Case, Judgement], str | None],
    *,
    seconds: float,
    values: bool = True,
) -> tuple[Case, Observation, Judgement]:
    """The smallest list found that fails with the same verdict and breaks the same clause first.

    Args:
        failing: the list to start from, what is expected of it, and its judgement.
        try_case: runs a case; None when the adapter gave up.
        clause_of: the clause of a judgement's first difference.
        seconds: longest time to spend; what was found by then is the answer.
        values: whether values become simpler, too; otherwise only operations and files are left out.
    """
    from hypothesis import Phase, Verbosity, find, settings  # noqa: PLC0415
    from hypothesis.errors import HypothesisException  # noqa: PLC0415

    case, _, judgement = failing
    wanted = (judgement.verdict, clause_of(case, judgement))
    best = failing
    memory: dict[str, tuple[Case, Observation, Judgement] | None] = {_memo(case.ops, case.files): failing}
    until = time.monotonic() + seconds

    def fails_alike(ops: Sequence[Op]) -> bool:
        return fails_with(ops, best[0].files)

    def fails_with(ops: Sequence[Op], files: Mapping[str, FileImage]) -> bool:
        nonlocal best
        key = _memo(ops, files)
        if key not in memory:
            if time.monotonic() > until:
                raise _Enough
            memory[key] = None
            tried = try_case(replace(case, ops=tuple(ops), files=files)) if ops else None
            if tried is not None and (tried[2].verdict, clause_of(tried[0], tried[2])) == wanted:
                memory[key] = tried
                if _size(tried[0]) < _size(best[0]):
                    best = tried
        return memory[key] is not None

    key = b"rocketspec"
    try:
        _without_runs(best[0].ops, fails_alike)
        _simplify_files(case, lambda: best[0], fails_with)
        if not values:
            return best
        template = best[0].ops
        with _hypothesis_elsewhere():
            smallest = find(
                _strategy(template),
                fails_alike,
                settings=settings(
                    database=_database(template, key),
                    phases=(Phase.reuse, Phase.shrink),
                    max_examples=_MOST_TRIES,
                    deadline=None,
                    verbosity=Verbosity.quiet,
                ),
                database_key=key,
            )
        best = memory[_memo(smallest, best[0].files)] or best
        _shorten_keys(best[0].ops, fails_alike)
    except (_Enough, HypothesisException):
        pass
    return best


def _simplify_files(
    case: Case,
    smallest: Callable[[], Case],
    fails_with: Callable[[Sequence[Op], Mapping[str, FileImage]], bool],
) -> None:
    """Leaves out the files that exist at the start; one that is needed becomes a healthy one if that fails alike."""
    for path in case.files:
        best = smallest()
        others = {name: image for name, image in best.files.items() if name != path}
        if not fails_with(best.ops, others):
            for image in healthy_images(path, best.ops):
                if fails_with(best.ops, {**others, path: image}):
                    break


def _without_runs(ops: Sequence[Op], fails_alike: Callable[[Sequence[Op]], bool]) -> None:
    """Leaves out runs of operations, long ones first: what Hypothesis would do one by one."""
    left = list(ops)
    length = len(left) // 2
    while length:
        start = 0
        while start < len(left):
            shorter = left[:start] + left[start + length :]
            if shorter and fails_alike(shorter):
                left = shorter
            else:
                start += length
        length //= 2


def _shorten_keys(ops: Sequence[Op], fails_alike: Callable[[Sequence[Op]], bool]) -> None:
    """Leaves characters out of keys, wherever a key occurs at once: halves first, then fewer."""
    left = list(ops)
    for key in dict.fromkeys(op[name] for op in ops for name in _key_fields(op)):
        text, length = key, len(key) // 2
        while length:
            start = 0
            while start < len(text):
                shorter = text[:start] + text[start + length :]
                changed = [_with_key(op, text, shorter) for op in left]
                if shorter and fails_alike(changed):
                    left, text = changed, shorter
                else:
                    start += length
            length //= 2


def _key_fields(op: Op) -> list[str]:
    operation = OPERATIONS[op["op"]]
    fields = {**operation.fields, **operation.optional}
    return [
        name for name, kind in fields.items() if kind in {"key", "key?"} and isinstance(op.get(name), str)
    ]


def _with_key(op: Op, old: str, new: str) -> Op:
    return {**op, **{name: new for name in _key_fields(op) if op[name] == old}}


def _memo(ops: Sequence[Op], files: Mapping[str, FileImage]) -> str:
    return json.dumps([*((path, image.sha256()) for path, image in sorted(files.items())), *ops])


def _size(case: Case) -> tuple[int, int, int, int]:
    held = sum(len(image.to_base64()) for image in case.files.values())
    return len(case.ops), len(case.files), held, len(json.dumps(case.ops))
