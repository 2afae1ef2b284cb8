# Made from dledger.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

from rocket_spec.kaitai._generated.rocketmq_4_commitlog import Rocketmq4Commitlog

class Rocketmq4Dledger:
    class Entry:
        magic: int
        len_entry: int
        index: int
        term: int
        pos: int
        channel: int
        chain_crc: int
        body_crc: int
        len_body: int
        body: Rocketmq4Commitlog.Frame
        unused: bytes
        rest: bytes
        is_entry: bool
        is_blank: bool
        phy_offset: int | None
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    entries: list[Rocketmq4Dledger.Entry]
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
