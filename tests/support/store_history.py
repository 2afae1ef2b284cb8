"""Histories of operations by a seed, run on the reference while they are made, to be run on the real classes after."""

import itertools
import os
import random
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from rocket_reference import JavaError, MappedFileQueue, UnspecifiedError

T0 = 1700000000000


class History(ABC):
    """Operations by a seed, run on the reference while they are made, each as a line and its answer."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.choose = random.Random(seed)  # noqa: S311 - reproducible inputs
        self.directory = directory
        self.root = directory
        self.lines: list[str] = []
        self.answers: list[str] = []
        self.ended = False

    def begin(self, number: int) -> None:
        """A fresh directory; whatever is open is dropped."""
        self.drop()
        self.ended = False
        self.root = self.directory / str(number)
        self.root.mkdir(parents=True)
        self.run(f"root {number}", lambda: None)

    def run(self, line: str, operation: Callable[[], object]) -> None:
        """One operation, unless the history met one before on which 4.9.3 never ends."""
        if self.ended:
            return
        try:
            answer = operation()
        except JavaError as error:
            answer = f"!{error.name}"
        except UnspecifiedError:
            self.ended = True
            return
        text = "-" if answer is None else str(answer).replace(" ", "")
        text = text.lower() if isinstance(answer, bool) else text
        self.lines.append(line)
        self.answers.append(f"{text} {self.state() or '-'} {self.files() or '-'}")

    def write(self, name: str, position: int, data: bytes) -> None:
        """Damage, or a file laid there."""

        def write() -> None:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            with path.open("r+b") as file:
                file.seek(position)
                file.write(data)

        self.run(f"write {name} {position} {data.hex()}", write)

    def length(self, name: str, length: int) -> None:
        """Cuts or extends a file."""

        def cut() -> None:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            os.truncate(path, length)

        self.run(f"length {name} {length}", cut)

    @abstractmethod
    def files(self) -> str:
        """Length and checksum of each file, as `files` of the Java program lists them."""

    @abstractmethod
    def state(self) -> str:
        """What is in memory."""

    @abstractmethod
    def drop(self) -> None:
        """Ends what is open."""


def positions(files: MappedFileQueue) -> str:
    return "".join(f"{file.file_from_offset}:{file.wrote_position}/" for file in files.mapped_files) + "."


def summary(path: Path) -> str:
    data = path.read_bytes()
    return f"={len(data)}:{zlib.crc32(data):x};"


def hexed(text: str | None) -> str:
    return "null" if text is None else "x" + text.encode("utf-16-be", "surrogatepass").hex()


def first_differences(history: History, theirs: Sequence[str]) -> list[tuple[int, str, str, str]]:
    """The first operations after which the two differ, with both answers."""
    assert len(history.answers) == len(theirs)
    rows = zip(itertools.count(), history.lines, history.answers, theirs, strict=False)
    return list(itertools.islice((row for row in rows if row[2] != row[3]), 3))
