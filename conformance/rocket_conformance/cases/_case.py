"""A case, what is expected of it, and the one JSON shape of vectors, cases and replay files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from rocket_spec.errors import MalformedError

from rocket_conformance.images import FileImage, image_from_base64
from rocket_conformance.protocol import OPERATIONS, Op, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Case",
    "Observation",
    "case_from_json",
    "case_to_json",
    "families_of",
    "geometries_of",
    "observation_to_json",
]

SHAPE: Final = 1
"""The version of the JSON shape, its field `rocketspec_case`."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What came of a case: a result per operation, and the files afterwards.

    Attributes:
        results: in the order of the operations.
        files: by path, relative to the case's directory.
    """

    results: tuple[Result, ...]
    files: Mapping[str, FileImage] = field(default_factory=dict[str, FileImage])


@dataclass(frozen=True, slots=True)
class Case:
    """A little program on one index file, one index service and one queue at a time.

    Attributes:
        id: `CLAUSE/slug`, never reused.
        clauses: the clauses that it is evidence of, the one it is named after first.
        ops: its operations.
        files: files that lie in its directory beforehand.
        expected: what the real jar gave; None where the reference alone says it.
        producer: where `expected` comes from.
        features: what an adapter must have declared.
        seed: of the generator that made it; None for a case written by hand.
    """

    id: str
    clauses: tuple[str, ...]
    ops: tuple[Op, ...]
    files: Mapping[str, FileImage] = field(default_factory=dict[str, FileImage])
    expected: Observation | None = None
    producer: str = "reference"
    features: frozenset[str] = frozenset()
    seed: int | None = None

    @property
    def op_names(self) -> frozenset[str]:
        """The operations that it needs."""
        return frozenset(op["op"] for op in self.ops)


def geometries_of(ops: Sequence[Op]) -> frozenset[tuple[int, int]]:
    """The geometries that the operations open files with."""
    return frozenset((op["hash_slot_num"], op["index_num"]) for op in ops if "hash_slot_num" in op)


def families_of(names: frozenset[str]) -> frozenset[str]:
    """The parts of the format that these operations belong to."""
    return frozenset(OPERATIONS[name].family for name in names if name in OPERATIONS)


def _files_to_json(files: Mapping[str, FileImage], *, with_hash: bool) -> dict[str, Any]:
    return {
        path: ({"sha256": image.sha256()} if with_hash else {}) | {"zstd_base64": image.to_base64()}
        for path, image in sorted(files.items())
    }


def observation_to_json(observation: Observation) -> dict[str, Any]:
    """An observation as `expected` and `actual` hold it."""
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
        "clauses": list(case.clauses),
        "geometry": list(geometries[0]) if geometries else None,
        "files": _files_to_json(case.files, with_hash=False),
        "ops": list(case.ops),
        "expected": observation_to_json(expected),
        "producer": case.producer,
        "seed": case.seed,
    }


def case_from_json(value: Any, *, file: str | None = None) -> Case:
    """The case that this JSON describes.

    Args:
        value: as `json.load` gave it.
        file: what to call it in errors.

    Raises:
        MalformedError: when it is no case, or names an operation that the suite does not know.
    """
    if not isinstance(value, dict) or cast("dict[str, Any]", value).get("rocketspec_case") != SHAPE:
        raise MalformedError(
            file=file, found="other JSON", expected=f'an object with "rocketspec_case": {SHAPE}'
        )
    document = cast("dict[str, Any]", value)
    try:
        ops = tuple(cast("list[Op]", document["ops"]))
        for op in ops:
            _check_op(op, file)
        expected = document.get("expected")
        return Case(
            id=str(document["id"]),
            clauses=tuple(str(clause) for clause in document["clauses"]),
            ops=ops,
            files=_files_from_json(document.get("files") or {}),
            expected=None if expected is None else _observation(expected),
            producer=_producer(document.get("producer")),
            features=_features(ops),
            seed=document.get("seed"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise MalformedError(
            file=file, found=f"{type(error).__name__}: {error}", expected="a case of protocol 1"
        ) from None


def _check_op(op: Op, file: str | None) -> None:
    operation = OPERATIONS.get(op["op"])
    if operation is None:
        raise MalformedError(
            file=file, found=f"operation {op['op']}", expected=f"one of {', '.join(OPERATIONS)}"
        )
    missing = [
        name
        for name, kind in operation.fields.items()
        if name not in op and not (kind in {"key", "key?"} and f"{name}_utf16" in op)
    ]
    if missing:
        raise MalformedError(
            file=file, found=f"{op['op']} without {', '.join(missing)}", expected="all its fields"
        )


def _features(ops: Sequence[Op]) -> frozenset[str]:
    lone = any(name.endswith("_utf16") for op in ops for name in op)
    return frozenset({"lone_surrogates"}) if lone else frozenset()


def _producer(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _observation(value: Mapping[str, Any]) -> Observation:
    return Observation(tuple(value["results"]), _files_from_json(value.get("files") or {}))


def _files_from_json(value: Mapping[str, Mapping[str, str]]) -> dict[str, FileImage]:
    return {path: image_from_base64(entry["zstd_base64"]) for path, entry in value.items()}
