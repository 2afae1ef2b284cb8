# Made from consumequeue_ext.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Rocketmq4ConsumequeueExt:
    class Unit:
        len_unit: int
        tags_code: int
        store_timestamp: int
        len_bit_map: int
        bit_map: bytes
        ahead: int | None
        is_unit: bool
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    units: list[Rocketmq4ConsumequeueExt.Unit]
    num_units: int
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
