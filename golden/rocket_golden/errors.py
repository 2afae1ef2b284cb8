"""Errors about golden data: an unknown name, or bytes that differ from the recorded ones."""

from collections.abc import Iterable


class UnknownStoreError(ValueError):
    """No golden store has this name.

    Attributes:
        name: the name asked for.
        names: the names that there are.
    """

    def __init__(self, name: str, names: Iterable[str]) -> None:
        self.name = name
        self.names = tuple(names)
        super().__init__(f"no golden store is named {name!r}; there are {', '.join(self.names)}")


class DamagedError(ValueError):
    """A golden file is not what the manifest recorded.

    Attributes:
        file: name of the file, relative to the package.
        found: what it holds, in words.
        expected: what it should hold, in words.
    """

    def __init__(self, file: str, found: str, expected: str) -> None:
        self.file = file
        self.found = found
        self.expected = expected
        super().__init__(f"{file}: found {found}, expected {expected}")
