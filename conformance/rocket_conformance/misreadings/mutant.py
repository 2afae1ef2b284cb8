"""A mutant: the reference with one line misread."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from rocket_conformance.misreadings.loading import mutated
from rocket_conformance.reference_adapter import Library, ReferenceAdapter
from rocket_conformance.transport import Handler, Transport, open_handler

_WATCH: Final = "_cycle_watch"

_ENDLESS: Final = (
    "        self._steps += 1\n",
    "        self._steps += 1\n        if hits > 1 << 16:\n            raise UnspecifiedError('the walk never ends')\n",
)
"""A change that stops endless walks: several misreadings together can cause one."""


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
        cause_only: whether reports look for it although its clause's own cases do not all notice it alone.
    """

    name: str
    clause: str
    module: str
    old: str
    new: str
    also: tuple[tuple[str, str], ...] = ()
    cause_only: bool = False

    @property
    def words(self) -> str:
        """Its name as a sentence has it."""
        return self.name.replace("-", " ")

    def library(self) -> Library:
        """The reference with this mistake in it.

        Raises:
            ValueError: when a text to be changed does not occur exactly once.
        """
        return library_of((self,))

    def handler(self) -> Handler:
        """It as an adapter in this process."""
        return ReferenceAdapter(self.library(), name=self.name)

    def open(self) -> AbstractContextManager[Transport]:
        """It as an implementation under test, in this process."""
        return open_handler(self.handler())


def library_of(misreadings: Iterable[Mutant]) -> Library:
    """The reference with all these mistakes in it.

    Raises:
        ValueError: when a text to be changed does not occur exactly once: two of them may change the same.
    """
    changes: dict[str, list[tuple[str, str]]] = {_WATCH: [_ENDLESS]}
    for mutant in sorted(misreadings, key=lambda item: item.name):
        changes.setdefault(mutant.module, []).extend(((mutant.old, mutant.new), *mutant.also))
    return mutated(changes)
