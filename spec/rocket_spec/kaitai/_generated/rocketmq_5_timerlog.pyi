# Made from timerlog.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Rocketmq5Timerlog:
    class Frame:
        len_unit: int
        ofs_prev: int
        magic: int
        unit: Rocketmq5Timerlog.Unit
        is_blank: bool
        is_unit: bool
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Unit:
        write_time: int
        delay: int
        phy_offset: int
        len_record: int
        topic_hash: int
        reserved: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    frames: list[Rocketmq5Timerlog.Frame]
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
