"""Commands for a shell, as a cure prints them: each is built here, from arguments that are quoted one by one.

A folder that a command makes has the store's name and the time in its name, so that it meets no other store's files.
Where commands follow one another, each but the last ends in `&&`: none runs after one that failed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rocket_spec.printable import shell_word

REPLICA: Final = "REPLICA"
"""Stands for a copy of the store, such as a slave's, in commands."""

CONF: Final = "BROKER.CONF"
"""Stands for the broker's configuration file in commands, if it is not known."""


RELEASE: Final = "RELEASE"
"""Stands for the release of a broker of 5.x in commands, if neither an option nor its files show it."""

STAMPED: Final = re.compile(r"-\d{8}-\d{6}(-\d{6})?$")
"""The end of the name of a folder that a command makes, or a repair."""


def chained(commands: Iterable[str]) -> tuple[str, ...]:
    """Commands, each run only if the one before it succeeded."""
    every = tuple(commands)
    return (*(f"{command} &&" for command in every[:-1]), *every[-1:])


@dataclass(frozen=True, slots=True)
class Shell:
    """Commands for one store.

    Attributes:
        store: the directory of the store, or its address.
        options: those that `rebuild`, `decode` and `audit` need for this store.
        conf: the broker's configuration file; None if it is not known.
        stamp: the end of the names of folders that commands make.
    """

    store: str
    options: tuple[str, ...] = ()
    conf: str | None = None
    stamp: str = field(default="", compare=False)

    @classmethod
    def of(cls, store: Path | str, options: Sequence[str] = (), conf: Path | str | None = None) -> Shell:
        """The commands for a store on this machine, which work in any directory."""
        whole = os.path.abspath(store)
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(whole).name)
        stamp = f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        return cls(whole, tuple(options), None if conf is None else os.path.abspath(conf), stamp)

    def file(self, name: str) -> str:
        """A file of the store."""
        return f"{self.store}/{name}"

    def folder(self, what: str) -> str:
        """A folder that a command makes."""
        return f"{what}-{self.stamp}" if self.stamp else what

    @staticmethod
    def line(*arguments: str) -> str:
        """A command with these arguments, whatever characters they contain."""
        return " ".join(map(shell_word, arguments))

    def verb(self, name: str, *arguments: str, finds: bool = False) -> str:
        """A verb on the store; with `finds` its exit code 1, for findings, counts as success."""
        line = self.line("rocketspec", name, self.store, *self.options, *arguments)
        return f"{{ {line}; test $? -le 1; }}" if finds else line

    def setting(self, name: str, value: int | str) -> str:
        """Appends a setting to the broker's configuration."""
        return f"{self.line('echo', f'{name}={value}')} >> {shell_word(self.conf or CONF)}"
