"""What is expected of a case: the reference runs it in a directory of its own."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from rocket_conformance.cases import Case, Observation
from rocket_conformance.images import FileImage, read_image
from rocket_conformance.reference_adapter import UnspecifiedOperationError, run_operations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rocket_conformance.protocol import Result

__all__ = ["collect_files", "compared_files", "expect", "fill_directory", "specified"]


def fill_directory(directory: Path, files: Mapping[str, FileImage]) -> None:
    """Makes the case's directory and the files that lie in it beforehand."""
    directory.mkdir()
    for path, image in files.items():
        target = directory / path
        if target.parent != directory:
            target.parent.mkdir(parents=True, exist_ok=True)
        image.write(target)


def collect_files(directory: Path, paths: Iterable[str]) -> dict[str, FileImage]:
    """Images of those of the files that are there."""
    return {path: read_image(directory / path) for path in paths if (directory / path).is_file()}


def compared_files(case: Case, results: Sequence[Result]) -> list[str]:
    """The files of a case that are compared: placed ones, and those that an accepted open names.

    A file that only rejected opens name is left out: whether one remains is an accident.
    """
    names = dict.fromkeys(case.files)
    for op, result in zip(case.ops, results, strict=True):
        if op["op"] == "index.open" and "rejected" not in result:
            names[op["file"]] = None
    return list(names)


def expect(case: Case, directory: Path) -> Observation:
    """What the reference makes of the case; `directory` is made, and removed again.

    Raises:
        UnspecifiedOperationError: when an operation is one that is never sent.
    """
    fill_directory(directory, case.files)
    try:
        results, _ = run_operations(case.ops, directory)
        return Observation(tuple(results), collect_files(directory, compared_files(case, results)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def specified(case: Case, directory: Path) -> tuple[Case, Observation]:
    """The case without the operations that are never sent, and what is expected of the rest."""
    while True:
        try:
            return case, expect(case, directory)
        except UnspecifiedOperationError as error:
            case = replace(case, ops=case.ops[: error.index] + case.ops[error.index + 1 :])
