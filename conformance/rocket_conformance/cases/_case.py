"""A case, what is expected of it, and both as JSON: the one shape of vectors, case files and replay files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from rocket_conformance.files import FileImage
from rocket_conformance.protocol import Op, Result

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
