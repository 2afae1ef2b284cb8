"""Jobs and replies, the same for every transport."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.comparison import fill_directory
from rocket_conformance.files import FileImage
from rocket_conformance.protocol import Answer, Hello, Op, case_message


class AdapterError(Exception):
    """The adapter would not start, or broke the protocol at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """A case on its way.

    Attributes:
        token: its id in this run.
        directory: where its files are, made when it is sent.
        ops: its operations.
        files: what is in the directory at the start.
        seconds: how long it may take, if that is less than the transport's own limit.
    """

    token: str
    directory: Path
    ops: tuple[Op, ...]
    files: Mapping[str, FileImage] = field(default_factory=dict[str, "FileImage"])
    seconds: float | None = None

    def prepare(self) -> dict[str, Any]:
        """Makes the directory afresh with the files that are in it, and returns the message.

        Raises:
            OSError: when the directory cannot be made.
        """
        remove_tree(self.directory)
        fill_directory(self.directory, self.files)
        return case_message(self.token, str(self.directory), self.ops)


Failure = Literal["errored", "crash", "timeout", "unstable"]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the right form."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer, or one that breaks the protocol.

    Attributes:
        verdict: of the case.
        detail: what happened, safe to show.
        ended: whether the process was lost over it, and has to be started again.
    """

    verdict: Failure
    detail: str
    ended: bool = False


Reply = Answered | Failed


class Transport(Protocol):
    """A started adapter.

    Attributes:
        hello: what it declared.
        gave_up: why no further job can be run, or None.
    """

    hello: Hello
    gave_up: str | None

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Reply]]:
        """Runs the jobs, and yields each with its reply, in any order."""
        ...

    def side_by_side(self, count: int, /) -> AbstractContextManager[Transport]:
        """As many further processes of the same adapter as one transport; itself if there can be none."""
        ...

    def close(self) -> None:
        """Says bye, and ends it."""
        ...


class OneProcess(Transport, Protocol):
    """A transport that talks to one process."""

    def interrupt(self) -> None:
        """Ends the process, from any thread."""
        ...
