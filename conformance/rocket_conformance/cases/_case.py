"""A case and its JSON: the one shape of vectors, case files and replay files, and the one place that decides what a case file may ask for."""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, cast

from rocket_spec.errors import MalformedError

from rocket_conformance.files import Allowance, FileImage, image_from_base64
from rocket_conformance.protocol import Op, Result, check_operation, check_path, parse_answer

SHAPE: Final = 1
"""The version of the JSON shape, its field `rocketspec_case`."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The observation of a case: a result per operation, and the files afterwards.

    Attributes:
        results: in the order of the operations.
        files: by path, relative to the case's directory.
    """

    results: tuple[Result, ...]
    files: Mapping[str, FileImage] = field(default_factory=dict[str, FileImage])

    @property
    def held(self) -> int:
        """Bytes of memory that the images of its files take."""
        return sum(image.held for image in self.files.values())

    def without_bytes(self) -> Self:
        """The observation with a digest of each file instead of its bytes."""
        files = {path: image.without_bytes() if image.whole else image for path, image in self.files.items()}
        return replace(self, files=files)


@dataclass(frozen=True, slots=True)
class Case:
    """A little program on one index file, one index service and one queue at a time.

    Attributes:
        id: `CLAUSE/slug`, never reused.
        clauses: the clauses that it is evidence of, the one it is named after first.
        ops: its operations.
        files: files that its directory has at the start.
        expected: what the real jar gave; None if only the reference decides.
        producer: where `expected` comes from.
        features: what an adapter must have declared.
        seed: of the generator that made it; None for a case written by hand.
        description: what it catches, and what that costs; empty where nobody wrote it.
    """

    id: str
    clauses: tuple[str, ...]
    ops: tuple[Op, ...]
    files: Mapping[str, FileImage] = field(default_factory=dict[str, FileImage])
    expected: Observation | None = None
    producer: str = "reference"
    features: frozenset[str] = frozenset()
    seed: int | None = None
    description: str = ""

    @property
    def op_names(self) -> frozenset[str]:
        """The operations that it needs."""
        return frozenset(op["op"] for op in self.ops)


def geometries_of(ops: Sequence[Op]) -> frozenset[tuple[int, int]]:
    """The geometries that the operations open files with."""
    return frozenset((op["hash_slot_num"], op["index_num"]) for op in ops if "hash_slot_num" in op)


def _files_to_json(files: Mapping[str, FileImage], *, with_hash: bool) -> dict[str, Any]:
    return {
        path: (
            ({"sha256": image.sha256()} if with_hash else {}) | {"zstd_base64": image.to_base64()}
            if image.whole
            else {"size": image.size}
        )
        for path, image in sorted(files.items())
    }


def observation_to_json(observation: Observation) -> dict[str, Any]:
    """An observation as `expected` and `actual` hold it; of a file that was not read the length alone."""
    return {
        "results": list(observation.results),
        "files": _files_to_json(observation.files, with_hash=True),
    }


def case_to_json(case: Case, expected: Observation) -> dict[str, Any]:
    """The case as JSON; a replay file adds actual and divergence to it."""
    geometries = sorted(geometries_of(case.ops))
    return {
        "rocketspec_case": SHAPE,
        "id": case.id,
        **({"description": case.description} if case.description else {}),
        "clauses": list(case.clauses),
        "geometry": list(geometries[0]) if geometries else None,
        "files": _files_to_json(case.files, with_hash=False),
        "ops": list(case.ops),
        "expected": observation_to_json(expected),
        "producer": case.producer,
        "seed": case.seed,
    }


# --- parse --------------------------------------------------------------------------------------------

_EXPECTED: Final = "a case of protocol 1"
_LONGEST_ID: Final = 200
_LONGEST_DESCRIPTION: Final = 1_000
_CLAUSE: Final = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*-[1-9][0-9]*")
_MOST_FILES: Final = 1_000


def case_from_json(value: Any, *, file: str | None = None) -> Case:
    """The case that this JSON describes.

    Args:
        value: as `json.load` gave it.
        file: what to call it in errors.

    Raises:
        MalformedError: when it is not a case: a field is missing or of another type, an operation is unknown, a path leads
            outside the case's directory, or the files unpack to more than 2 GiB.
    """
    document = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    shape = document.get("rocketspec_case")
    if isinstance(shape, bool) or shape != SHAPE:
        raise MalformedError(
            file=file, found="other JSON", expected=f'an object with "rocketspec_case": {SHAPE}'
        )
    allowance = Allowance()
    with _named(file):
        ops = _operations(document.get("ops"))
        expected = document.get("expected")
        name = _text("id", document.get("id"))
        about = document.get("description")
        return Case(
            id=name,
            clauses=_clauses(document.get("clauses"), name),
            ops=ops,
            files=_files(document.get("files"), allowance),
            expected=None if expected is None else _observation(expected, ops, allowance),
            producer=_producer(document.get("producer")),
            features=_features(ops),
            seed=_seed(document.get("seed")),
            description=_text("description", about, most=_LONGEST_DESCRIPTION) if about else "",
        )


@contextmanager
def _named(file: str | None) -> Generator[None]:
    """Turns what is wrong into an error that names the file."""
    try:
        yield
    except MalformedError as error:
        raise MalformedError(file=file, found=error.found, expected=error.expected) from None
    except ValueError as error:
        raise MalformedError(file=file, found=error, expected=_EXPECTED) from None


def _list(name: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{name} that is missing or not a list")
    return cast("list[object]", value)


def _object(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} that is not an object")
    return cast("dict[str, object]", value)


def _text(name: str, value: object, *, most: int = _LONGEST_ID) -> str:
    """A short text of one line, such as an id: it becomes the name of a replay file and is shown."""
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > most:
        raise ValueError(f"{name} {value!r:.80}: not a text of 1 to {most} printable characters")
    return value


def _clauses(value: object, name: str) -> tuple[str, ...]:
    """The clauses of a case; without any, the one that its id begins with."""
    given = [] if value is None else _list("clauses", value)
    found = tuple(_text("clauses", clause) for clause in given) or (name.partition("/")[0],)
    for clause in found:
        if not _CLAUSE.fullmatch(clause):
            raise ValueError(
                f"clause {clause!r:.80}: not an id such as IDX-PUT-5; the id of a case begins with one"
            )
    return found


def _operations(value: object) -> tuple[Op, ...]:
    ops = _list("ops", value)
    for place, op in enumerate(ops):
        try:
            check_operation(op)
        except ValueError as error:
            raise ValueError(f"operation {place}: {error}") from None
    return tuple(cast("list[Op]", ops))


def _features(ops: Sequence[Op]) -> frozenset[str]:
    lone = any(name.endswith("_utf16") for op in ops for name in op)
    return frozenset({"lone_surrogates"}) if lone else frozenset()


def _seed(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"seed {value!r:.80}: not an integer or null")
    return value


def _producer(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _observation(value: object, ops: Sequence[Op], allowance: Allowance) -> Observation:
    expected = _object("expected", value)
    return Observation(
        parse_answer({"results": expected.get("results")}, ops).results,
        _files(expected.get("files"), allowance),
    )


def _files(value: object, allowance: Allowance) -> dict[str, FileImage]:
    files = {} if value is None else _object("files", value)
    if len(files) > _MOST_FILES:
        raise ValueError(f"{len(files):,} files; at most {_MOST_FILES:,} are allowed")
    images: dict[str, FileImage] = {}
    for path, entry in files.items():
        check_path(path)
        if any(f"{parent}/" == path[: len(parent) + 1] for parent in files):
            raise ValueError(f"file {path!r:.80}: is inside another file")
        packed = _object(f"file {path!r:.80}", entry).get("zstd_base64")
        if not isinstance(packed, str):
            raise ValueError(f"file {path!r:.80} without zstd_base64")
        images[path] = image_from_base64(packed, allowance)
    return images
