# Made from timerwheel.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Rocketmq5Timerwheel:
    class Slot:
        delayed_time: int
        ofs_first: int
        ofs_last: int
        num: int
        magic: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    slots: list[Rocketmq5Timerwheel.Slot]
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
