# Made from consumequeue.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Rocketmq4Consumequeue:
    class Unit:
        phy_offset: int
        len_record: int
        tags_code: int
        is_in_use: bool
        is_pre_blank: bool
        is_ext_address: bool
        tags_code_high: int
        tags_code_low: int
        ofs_ext_unit: int | None
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    units: list[Rocketmq4Consumequeue.Unit]
    num_units: int
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
