# Made from dledger_index.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Rocketmq4DledgerIndex:
    class Unit:
        magic: int
        pos: int
        len_entry: int
        index: int
        term: int
        is_in_use: bool
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    units: list[Rocketmq4DledgerIndex.Unit]
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
