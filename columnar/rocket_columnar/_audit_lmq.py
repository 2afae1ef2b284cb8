"""Which queues a record was copied to by multi-dispatch: units there may point to another topic's record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rocket_columnar._java import parse_long
from rocket_columnar.decode import Gap, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.store import StoreFile

__all__ = ["Copies", "Copy", "copies_of", "may_hold_copies"]

Copy = tuple[str, int]
"""A queue's name, and the logical offset that the record has there."""

_QUEUES: Final = "INNER_MULTI_DISPATCH"
_OFFSETS: Final = "INNER_MULTI_QUEUE_OFFSET"
_CHUNK: Final = 1 << 24


def copies_of(properties: dict[str, str]) -> list[Copy]:
    """Queues and logical offsets of a record's copies, none where the two lists differ in length.

    Source: `ConsumeQueue.multiDispatchLmqQueue` 437-457.
    """
    queues, offsets = properties.get(_QUEUES, ""), properties.get(_OFFSETS, "")
    if not queues.strip() or not offsets.strip():
        return []
    names, numbers = _split(queues), [parse_long(part) for part in _split(offsets)]
    if len(names) != len(numbers) or None in numbers:
        return []
    return [(name, number) for name, number in zip(names, numbers, strict=True) if number is not None]


def _split(text: str) -> list[str]:
    """Java's `split(",")`: empty parts at the end are dropped."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def may_hold_copies(files: Sequence[StoreFile]) -> bool:
    """Whether the property that names copies occurs anywhere in the log."""
    needle = _OFFSETS.encode()
    for file in files:
        if file.kind != "log":
            continue
        with file.open() as reader:
            tail = b""
            for begin, end in reader.extents():
                for start in range(begin, end, _CHUNK):
                    chunk = reader.read(start, min(_CHUNK, end - start)).tobytes()
                    if needle in tail + chunk:
                        return True
                    tail = chunk[-len(needle) :]
    return False


class Copies:
    """The copies that a log's records name; read when first asked for."""

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = [file for file in files if file.kind == "log"]
        self._known: dict[int, list[Copy]] | None = None

    def of(self, phy_offset: int) -> list[Copy]:
        """The copies of the record at an offset, in the order of their puts."""
        return self._read().get(phy_offset, [])

    def _read(self) -> dict[int, list[Copy]]:
        if self._known is None:
            self._known = {}
            if may_hold_copies(self._files):
                for file in self._files:
                    self._read_file(file, self._known)
        return self._known

    @staticmethod
    def _read_file(file: StoreFile, known: dict[int, list[Copy]]) -> None:
        def passed(_: Gap) -> None:
            """Gaps are the log's findings."""

        columns = ["phy_offset", "properties"]
        for _, batch in decode([file], tables=["commit_log"], columns=columns, on_gap=passed):
            rows: Any = zip(
                batch.column("phy_offset").to_pylist(), batch.column("properties").to_pylist(), strict=True
            )
            for offset, pairs in rows:
                copies = copies_of(dict(pairs))
                if copies:
                    known[offset] = copies
