"""Runs the operations of a case on the reference: what every expectation comes from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import rocket_reference
from rocket_reference import RULES_4_9_3, JavaError, Rules, UnspecifiedError
from rocket_spec.errors import FormatError

from rocket_conformance.protocol import Op, Result
from rocket_conformance.reference_adapter.library import Library
from rocket_conformance.reference_adapter.operations import Session

REFERENCE: Final = cast("Library", rocket_reference)


class UnspecifiedOperationError(Exception):
    """An operation on which 4.9.3 never returns, and which is never sent.

    Attributes:
        index: its place in the list.
    """

    def __init__(self, index: int, why: str) -> None:
        super().__init__(f"operation {index}: {why}")
        self.index = index


def run_operations(
    ops: Sequence[Op],
    directory: Path,
    *,
    library: Library = REFERENCE,
    rules: Rules = RULES_4_9_3,
) -> tuple[list[Result], list[tuple[str, str]]]:
    """Runs a case in `directory`, and returns its results, and role and path of its files.

    Args:
        ops: the operations.
        directory: fresh, or with the case's files in it.
        library: the reference, or a mutant of it.
        rules: of the release that the reference does as.

    Raises:
        UnspecifiedOperationError: at an operation on which 4.9.3 would never return.
    """
    session = Session(directory, library, rules)
    results: list[Result] = []
    try:
        for place, op in enumerate(ops):
            try:
                results.append(session.run(op))
            except UnspecifiedError as error:
                raise UnspecifiedOperationError(place, str(error)) from error
            except (JavaError, FormatError, LookupError, OSError) as error:
                results.append({"rejected": str(error) or type(error).__name__})
    finally:
        session.close()
    return results, list(session.files())
