# Made from indexfile.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any

class Rocketmq4Indexfile:
    class Header:
        begin_timestamp: int
        end_timestamp: int
        begin_phy_offset: int
        end_phy_offset: int
        hash_slot_count: int
        index_count: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Entry:
        key_hash: int
        phy_offset: int
        time_diff: int
        prev_entry: int
        store_timestamp: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    hash_slot_num: int
    index_num: int
    header: Rocketmq4Indexfile.Header
    index_count: int
    ofs_entries: int
    num_entries: int
    slots: list[int]
    unused_entry: bytes | None
    entries: list[Rocketmq4Indexfile.Entry]
    def __init__(self, hash_slot_num: int, index_num: int, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    def close(self) -> None: ...
