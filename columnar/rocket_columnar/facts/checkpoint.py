"""The times of a checkpoint."""

import struct
from typing import Final

from rocket_spec.layout import CHECKPOINT

from rocket_columnar.store import StoreFile

_TIMES: Final = struct.Struct(CHECKPOINT.struct_format)


def read_checkpoint(file: StoreFile) -> tuple[int, int, int]:
    """The three times in ms; 0 for those that a shorter file lacks, as after a broker's start (CKP-2)."""
    with file.open() as reader:
        raw = reader.read(0, min(reader.size, _TIMES.size)).tobytes()
    physic, logics, index = _TIMES.unpack(raw.ljust(_TIMES.size, b"\0"))
    return physic, logics, index
