# Made from checkpoint.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Rocketmq4Checkpoint:
    physic_msg_timestamp: int
    logics_msg_timestamp: int
    index_msg_timestamp: int
    master_flushed_offset: int
    confirm_phy_offset: int
    logics_physical_offset: int
    unused: bytes
    rest: bytes
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
