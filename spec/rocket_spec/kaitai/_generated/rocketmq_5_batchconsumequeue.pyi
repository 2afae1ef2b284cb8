# Made from batchconsumequeue.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Rocketmq5Batchconsumequeue:
    class Unit:
        phy_offset: int
        len_record: int
        tags_code: int
        store_timestamp: int
        base_offset: int
        len_batch: int
        compacted_offset: int
        reserved: int
        is_in_use: bool
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    units: list[Rocketmq5Batchconsumequeue.Unit]
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
