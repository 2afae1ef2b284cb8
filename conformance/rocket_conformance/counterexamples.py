"""Failing cases made small - runs of operations go, then files, values become simpler - and replay files: a case, what was expected, and what came."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rocket_reference import JavaError
from rocket_spec.errors import MalformedError
from rocket_spec.outputs import write_whole

from rocket_conformance.cases import Case, Observation, case_from_json, case_to_json, observation_to_json
from rocket_conformance.comparison import expect
from rocket_conformance.files import FileImage, read_input, scratch_root
from rocket_conformance.judging import Trial
from rocket_conformance.protocol import OPERATIONS, Op
from rocket_conformance.reference_adapter import UnspecifiedOperationError

_LARGEST: Final = 64 << 20
_EXPECTED: Final = "a case file"

_LONGEST_RESULT: Final = 1 << 14
"""Maximum size of a result in a replay file."""

_LARGEST_WRITTEN: Final = 1 << 16
"""Maximum size of a replay file."""


def replay_name(case: str) -> str:
    """The file name of a case's replay file: every character that a file system may mind is a dash."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in case) + ".json"


def replay_of(trial: Trial, divergence: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The replay file of a case that failed."""
    document = case_to_json(trial.case, trial.expected)
    document["actual"] = (
        {"verdict": trial.verdict, "detail": trial.detail}
        if trial.actual is None
        else observation_to_json(_shortened(trial.actual))
    )
    document["divergence"] = list(divergence)
    return _bounded(document, trial.actual)


def _bounded(document: dict[str, Any], actual: Observation | None) -> dict[str, Any]:
    """The document, without the bytes of the files that were found where it would be longer than 64 KB with them.

    What is expected is made from the operations when the case runs again; the bytes that were found are seen then.
    """
    files: dict[str, Any] = document["actual"].get("files", {})
    for path in sorted(files, key=lambda path: len(files[path].get("zstd_base64", "")), reverse=True):
        if actual is None or len(json.dumps(document, indent=1)) < _LARGEST_WRITTEN:
            break
        files[path] = {"size": actual.files[path].size}
    return document


def _shortened(actual: Observation) -> Observation:
    """The observation, without results that no case has: they are megabytes of an adapter's choice."""
    results = tuple(
        result
        if len(text := json.dumps(result)) <= _LONGEST_RESULT
        else {"left_out": f"{len(text):,} characters"}
        for result in actual.results
    )
    return replace(actual, results=results)


def write_replay(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a replay file, and its folder."""
    write_whole(path, json.dumps(document, indent=1) + "\n")


def read_replay(path: Path) -> Case:
    """The case of a replay file, a vector or a case file.

    Raises MalformedError: when it is not one.
    Raises OSError: when it cannot be read.
    """
    data = read_input(path, limit=_LARGEST, expected=_EXPECTED)
    offset = None
    try:
        document = json.loads(data)
    except RecursionError:
        found = "JSON that nests too deeply"
    except UnicodeDecodeError as error:
        found, offset = "no UTF-8", error.start
    except ValueError as error:  # a number of more digits than Python converts, too
        found = f"no JSON: {error}"
    else:
        return case_from_json(document, file=str(path))
    raise MalformedError(file=str(path), offset=offset, found=found, expected=_EXPECTED)


# --- shrinking ----------------------------------------------------------------------------------------

_COUNTS: Final = (1, 2, 3, 5)

_KINDS: Final = ("ab", "a", "aa")
"""Keys of the puts in turn: two, one, or one at one time; units of queues without tags, with tags, or from place 1 on."""

_NOON: Final = 1_700_000_000_000
_QUEUE_PARTS: Final = 4
_UNIT: Final = 20


def healthy_images(path: str, ops: Sequence[Op]) -> Iterator[FileImage]:
    """A dozen healthy files of the geometry that the operations open it with: 1, 2, 3 and 5 entries or units of three kinds."""
    opened = list(_opened(path, ops))
    for count, kind in product(_COUNTS, _KINDS) if opened else ():
        made = [*opened, *(_put(path, number, kind) for number in range(count))]
        made += [] if path.startswith("consumequeue/") else [{"op": "index.flush"}]
        with TemporaryDirectory(prefix="rocketspec-", dir=scratch_root()) as folder:
            try:
                left = expect(Case("IDX-PUT-1/healthy", ("IDX-PUT-1",), tuple(made)), Path(folder, "case"))
            except (UnspecifiedOperationError, JavaError, OSError):
                return
        if path in left.files:
            yield left.files[path]


def _opened(path: str, ops: Sequence[Op]) -> Iterator[Op]:
    for op in ops:
        if op["op"] in {"index.open", "service.open"} and not path.startswith("consumequeue/"):
            yield {
                "op": "index.open", "file": path, "hash_slot_num": op["hash_slot_num"], "index_num": op["index_num"],
                "end_phy_offset": "0", "end_timestamp": "0", "load": False,
            }  # fmt: skip
            return
        if op["op"] == "queue.open" and len(path.split("/")) == _QUEUE_PARTS:
            yield {**op, "load": False}
            return


def _put(path: str, number: int, kind: str) -> Op:
    offset, time = str(100 * number), str(_NOON + (0 if kind == "aa" else 1000 * number))
    if path.startswith("consumequeue/"):
        name = path.rpartition("/")[2]
        place = int(name) // _UNIT if name.isdecimal() else 0
        place += number + (kind == "aa")
        tags = str(int(kind == "a"))
        return {"op": "queue.put", "offset": offset, "size": 100, "tags_code": tags, "cq_offset": str(place)}
    return {"op": "index.put", "key": kind[number % len(kind)], "phy_offset": offset, "store_timestamp": time}


# --- shrinking ----------------------------------------------------------------------------------------

_SIMPLE_I64: Final = ("0", "1", "100", "1000", "-1", "1000000000", "1700000000000")
_SIMPLE_I32: Final = (0, 1, -1, 2, 10, 32, 100)
_SIMPLE_KEYS: Final = ("a", "b")
_MOST_UNUSUAL: Final = 4

_SIMPLE_SIZES: Final = {"hash_slot_num": (1, 2), "index_num": (2, 4, 12), "file_size": (40, 60, 100)}
"""Smaller ones make a file another case altogether: no slots, no room, files of one unit."""


class _TimeUpError(Exception):
    """The time is up."""


def _simpler(kind: str, value: Any) -> list[Any]:
    """Values to try for a field, the simplest first, its own last."""
    candidates: Sequence[Any] = ()
    if kind == "i64":
        candidates = [text for text in _SIMPLE_I64 if len(text) <= len(value)]
    elif kind == "i32":
        candidates = [number for number in _SIMPLE_I32 if abs(number) < abs(value)]
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


def shrink(
    failing: Trial,
    try_case: Callable[[Case], Trial | None],
    place_of: Callable[[Trial], str | None],
    *,
    seconds: float,
    values: bool = True,
) -> Trial:
    """The smallest list found that fails with the same verdict and differs first at the same place.

    Args:
        failing: the list to start from.
        try_case: runs a case; None when the adapter gave up.
        place_of: the place of a trial's first difference.
        seconds: longest time to spend; what was found by then is the answer.
        values: whether values become simpler, too; otherwise only operations and files are left out.
    """
    wanted = failing.verdict, place_of(failing)
    best = failing
    seen: set[str] = set()
    until = time.monotonic() + seconds

    def fails_with(ops: Sequence[Op], files: Mapping[str, FileImage]) -> bool:
        nonlocal best
        known = json.dumps([*((path, image.sha256()) for path, image in sorted(files.items())), *ops])
        if known in seen or not ops:
            return False  # so that each step leads to a new list
        seen.add(known)
        if time.monotonic() > until:
            raise _TimeUpError
        tried = try_case(replace(best.case, ops=tuple(ops), files=files))
        if tried is not None and (tried.verdict, place_of(tried)) == wanted:
            best = tried
            return True
        return False

    def fails_alike(ops: Sequence[Op]) -> bool:
        return fails_with(ops, best.case.files)

    before = None
    try:
        while best is not before:
            before = best
            _without_runs(best.case.ops, fails_alike)
            _simplify_files(best.case.files, best.case.ops, lambda files: fails_with(best.case.ops, files))
            if not values:
                break
            _simplify(best.case.ops, fails_alike)
            _shorten_keys(best.case.ops, fails_alike)
    except _TimeUpError:
        pass
    return best


def _without_runs(ops: Sequence[Op], fails_alike: Callable[[Sequence[Op]], bool]) -> None:
    """Leaves out runs of operations, long ones first."""
    left = list(ops)
    length = len(left) // 2
    while length:
        start = 0
        while start < len(left):
            shorter = left[:start] + left[start + length :]
            if fails_alike(shorter):
                left = shorter
            else:
                start += length
        length //= 2


def _simplify_files(
    files: Mapping[str, FileImage], ops: Sequence[Op], fails_alike: Callable[[Mapping[str, FileImage]], bool]
) -> None:
    """Leaves out the files that exist at the start; one that is needed becomes a healthy one if that fails alike."""
    left = dict(files)
    for path in files:
        others = {name: image for name, image in left.items() if name != path}
        if fails_alike(others):
            left = others
            continue
        for image in healthy_images(path, ops):  # the smallest first
            if image.sha256() == left[path].sha256():
                break
            if fails_alike({**others, path: image}):
                left = {**others, path: image}
                break


def _simplify(ops: Sequence[Op], fails_alike: Callable[[Sequence[Op]], bool]) -> None:
    """Gives each field the first of its simpler values with which the list fails; a key changes wherever it occurs at once."""
    left = list(ops)
    for place in range(len(left)):
        for name, values in _choices(left[place]):
            for value in values[:-1]:
                changed = [*left[:place], {**left[place], name: value}, *left[place + 1 :]]
                if name in _key_fields(left[place]) and value is not None:
                    changed = [_with_key(op, left[place][name], value) for op in left]
                if fails_alike(changed):
                    left = changed
                    break


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
