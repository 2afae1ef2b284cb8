"""Errors about golden data: an unknown name, or bytes that differ from the recorded ones."""

from collections.abc import Iterable


class UnknownStoreError(ValueError):
    """No golden store has this name; `names` are those that there are."""

    def __init__(self, name: str, names: Iterable[str]) -> None:
        self.name = name
        self.names = tuple(names)
        super().__init__(f"no golden store is named {name!r}; there are {', '.join(self.names)}")


class DamagedError(ValueError):
    """A golden file, by its name relative to the package, is not what the manifest recorded; `found` and `expected` are in words."""

    def __init__(self, file: str, found: str, expected: str) -> None:
        self.file = file
        self.found = found
        self.expected = expected
        super().__init__(f"{file}: found {found}, expected {expected}")
