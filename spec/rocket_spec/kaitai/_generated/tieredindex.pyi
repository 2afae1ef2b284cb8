# Made from tieredindex.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

class Tieredindex:
    class Header:
        magic: int
        begin_timestamp: int
        end_timestamp: int
        num_used_slots: int
        num_items: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Table:
        hash_slot_num: int
        index_num: int
        header: Tieredindex.Header
        slots: list[Tieredindex.Slot]
        items: list[Tieredindex.Item]
        def __init__(self, hash_slot_num: int, index_num: int, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Slot:
        item: int
        unused: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Item:
        key_hash: int
        topic_id: int
        queue_id: int
        ofs_record: int
        len_record: int
        time_diff: int
        prev_item: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Compacted:
        header: Tieredindex.Header
        first_slot: Tieredindex.CompactedSlot
        other_slots: list[Tieredindex.CompactedSlot]
        items: list[Tieredindex.CompactedItem]
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class CompactedSlot:
        ofs_items: int
        len_items: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class CompactedItem:
        key_hash: int
        topic_id: int
        queue_id: int
        ofs_record: int
        len_record: int
        time_diff: int
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    header: Tieredindex.Header
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
