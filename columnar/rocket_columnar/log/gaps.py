"""The gaps of a log: bytes between the records that verify."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of the commit log that was skipped.

    Attributes:
        file: path of the file, beginning with the path that the user gave.
        begin: physical offset of the first byte, in bytes of the log.
        end: physical offset after the last byte.
        found: what is at `begin`.
        expected: what the format requires there.
    """

    file: str
    begin: int
    end: int
    found: str
    expected: str

    def __str__(self) -> str:
        return (
            f"{self.file}: gap from {self.begin:,} to {self.end:,} ({self.end - self.begin:,} bytes): "
            f"found {self.found}, expected {self.expected}"
        )
