"""What every transport takes and gives."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from rocket_conformance.expect import fill_directory
from rocket_conformance.protocol import Answer, Hello, Op, case_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from rocket_conformance.images import FileImage

__all__ = ["AdapterError", "Answered", "Failed", "Failure", "Job", "Reply", "Transport"]


class AdapterError(Exception):
    """The adapter would not start, or broke the protocol at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """A case on its way: its token in this run, its directory, its operations."""

    token: str
    directory: Path
    ops: tuple[Op, ...]
    files: Mapping[str, FileImage] = field(default_factory=dict[str, "FileImage"])

    def prepare(self) -> dict[str, Any]:
        """Makes the directory afresh with the files that lie in it, and returns the message."""
        shutil.rmtree(self.directory, ignore_errors=True)
        fill_directory(self.directory, self.files)
        return case_message(self.token, str(self.directory), self.ops)


Failure = Literal["errored", "crash", "timeout", "unstable"]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the right form."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer, or one that is no answer; `detail` says what happened."""

    verdict: Failure
    detail: str


Reply = Answered | Failed


class Transport(Protocol):
    """A started adapter.

    Attributes:
        hello: what it said of itself.
        gave_up: why it stopped before the last job, or None.
    """

    hello: Hello
    gave_up: str | None

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Reply]]:
        """Runs the jobs, and gives each with its reply, in any order."""
        ...

    def forgive(self) -> None:
        """Forgets earlier deaths, so that a few more cases may be tried."""
        ...

    def close(self) -> None:
        """Says bye, and ends it."""
        ...
