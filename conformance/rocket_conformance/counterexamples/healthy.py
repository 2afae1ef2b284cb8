"""Healthy files: what the reference leaves after a few puts, to stand for the start files of a case that fails."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rocket_reference import JavaError

from rocket_conformance.cases import Case
from rocket_conformance.comparison import expect
from rocket_conformance.files import FileImage, scratch_root
from rocket_conformance.protocol import Op
from rocket_conformance.reference_adapter import UnspecifiedOperationError

_COUNTS: Final = (1, 2, 3, 5)
_NOON: Final = 1_700_000_000_000
_QUEUE_PARTS: Final = 4


def healthy_images(path: str, ops: Sequence[Op]) -> Iterator[FileImage]:
    """The file with 1, 2, 3 and 5 entries or units, of the geometry that the operations open it with."""
    for count in _COUNTS:
        made = [*_opened(path, ops), *(_put(path, number) for number in range(count))]
        if len(made) == count:
            return
        made += [] if path.startswith("consumequeue/") else [{"op": "index.flush"}]
        with TemporaryDirectory(prefix="rocketspec-", dir=scratch_root()) as folder:
            try:
                left = expect(Case("IDX-PUT-1/healthy", ("IDX-PUT-1",), tuple(made)), Path(folder, "case"))
            except (UnspecifiedOperationError, JavaError, OSError):
                return
        if path in left.files:
            yield left.files[path]


def _opened(path: str, ops: Sequence[Op]) -> Iterator[Op]:
    for op in ops:
        if op["op"] in {"index.open", "service.open"} and not path.startswith("consumequeue/"):
            yield {
                "op": "index.open", "file": path, "hash_slot_num": op["hash_slot_num"], "index_num": op["index_num"],
                "end_phy_offset": "0", "end_timestamp": "0", "load": False,
            }  # fmt: skip
            return
        if op["op"] == "queue.open" and len(path.split("/")) == _QUEUE_PARTS:
            yield {**op, "load": False}
            return


def _put(path: str, number: int) -> Op:
    offset, time = str(100 * number), str(_NOON + 1000 * number)
    if path.startswith("consumequeue/"):
        return {"op": "queue.put", "offset": offset, "size": 100, "tags_code": "0", "cq_offset": str(number)}
    return {"op": "index.put", "key": "ab"[number % 2], "phy_offset": offset, "store_timestamp": time}
