# Made from commitlog_lenient.ksy by spec/kaitai/compile.mjs; do not edit.
from typing import Any, Self

from rocket_spec.kaitai._generated.commitlog import Commitlog

class CommitlogLenient:
    class Step:
        before: bytes
        found: bytes
        ofs_magic: int
        ofs_record: int
        magic: int | None
        len_total: int | None
        is_record: bool
        record: Commitlog.Record | None
        def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...

    steps: list[CommitlogLenient.Step]
    def __init__(self, _io: Any, _parent: Any = None, _root: Any = None) -> None: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    def close(self) -> None: ...
