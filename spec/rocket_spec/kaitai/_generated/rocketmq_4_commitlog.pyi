# Made from commitlog.ksy by spec/kaitai/compile.mjs; do not edit.
from enum import IntEnum
from typing import Any, Self

class Rocketmq4Commitlog:
    class Magic(IntEnum):
        message = -626843481
        message_v2 = -626843477
        blank = -875286124

    class Frame:
        len_total: int
        magic: Rocketmq4Commitlog.Magic | int
        record: Rocketmq4Commitlog.Record
        unused: bytes
        rest: bytes
        is_record: bool
        is_v2: bool
        is_blank: bool
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Record:
        is_v2: bool
        body_crc: int
        queue_id: int
        flag: int
        queue_offset: int
        phy_offset: int
        sys_flag: int
        born_timestamp: int
        born_host: Rocketmq4Commitlog.Host
        store_timestamp: int
        store_host: Rocketmq4Commitlog.Host
        reconsume_times: int
        prepared_transaction_offset: int
        len_body: int
        body: bytes
        len_topic: int
        len_topic_v2: int
        topic: bytes
        len_properties: int
        properties: bytes
        is_compressed: bool
        is_multi_tags: bool
        transaction_type: int
        is_born_host_ipv6: bool
        is_store_host_ipv6: bool
        def __init__(self, is_v2: bool, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    class Host:
        is_ipv6: bool
        address: bytes
        port: int
        def __init__(self, is_ipv6: bool, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    frames: list[Rocketmq4Commitlog.Frame]
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
