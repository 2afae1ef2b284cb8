"""A mutant: the reference with one line misread."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocket_conformance.misreadings.loading import mutated
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.session import open_handler

if TYPE_CHECKING:
    from collections.abc import Generator

    from rocket_conformance.reference_adapter import Library
    from rocket_conformance.transport import Handler, Transport

__all__ = ["Mutant"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong implementation: one clause, read wrongly.

    Attributes:
        name: what it does wrong, in words joined by hyphens; unique.
        clause: the clause that it misreads.
        module: the module of `rocket_reference` that is changed.
        old: text that occurs once in it.
        new: what it becomes.
        also: further changes of that module that the same misreading makes.
    """

    name: str
    clause: str
    module: str
    old: str
    new: str
    also: tuple[tuple[str, str], ...] = ()

    def library(self) -> Library:
        """The reference with this mistake in it.

        Raises:
            ValueError: when a text to be changed does not occur exactly once.
        """
        return mutated(self.module, ((self.old, self.new), *self.also))

    def handler(self) -> Handler:
        """It as an adapter in this process."""
        return ReferenceAdapter(self.library(), name=self.name)

    @contextmanager
    def open(self) -> Generator[Transport]:
        """It as an implementation under test, in this process."""
        with open_handler(self.handler()) as transport:
            yield transport
