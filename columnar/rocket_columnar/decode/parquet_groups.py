"""Parquet columns that were encoded separately, put together as one file.

pyarrow encodes a file's row groups, and their columns, one after another on one thread. Here each column of a row group is
encoded as a file of its own, in memory, on any thread. Their data are then written one after another, and their footers become
one, with the offsets moved. A footer is a struct of Thrift's compact protocol, whose fields parquet.thrift numbers; what is not
moved or added up is copied as it is.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

__all__ = ["RowGroups"]

_MAGIC: Final = b"PAR1"
_TAIL: Final = struct.Struct("<I4s")  # length of the footer, and the magic

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_NUM_ROWS, _ROW_GROUPS = 3, 4  # of FileMetaData
_COLUMNS, _GROUP_BYTES, _GROUP_OFFSET, _GROUP_COMPRESSED, _ORDINAL = 1, 2, 5, 6, 7  # of RowGroup
_META_DATA: Final = 3  # of ColumnChunk
_CHUNK_OFFSETS: Final = (2, 4, 6)  # the chunk's own, of its offset index, of its column index
_COLUMN_OFFSETS: Final = (
    9,
    10,
    11,
    14,
)  # of ColumnMetaData: data page, index page, dictionary page, bloom filter

_Struct = dict[int, tuple[int, Any]]
"""Kind and value of each field, by its number."""


class RowGroups:
    """A Parquet file made of others, each of which has one column of one row group.

    Args:
        stream: to write; at its beginning.
        empty: a Parquet file with all columns and no row group.
    """

    def __init__(self, stream: BinaryIO, empty: memoryview) -> None:
        self._stream = stream
        self._footer, _ = _parted(empty)
        self._groups: list[_Struct] = []
        self._rows = 0
        self._position = stream.write(_MAGIC)

    def add(self, columns: Iterable[memoryview]) -> None:
        """Writes a row group, whose columns are whole Parquet files, in the order of the schema."""
        whole: _Struct = {}
        rows = 0
        for file in columns:
            footer, data = _parted(file)
            rows = footer[_NUM_ROWS][1]
            ((group,),) = footer[_ROW_GROUPS][1][1:]
            self._move(group, self._position - len(_MAGIC))
            self._position += self._stream.write(data)
            if whole:
                whole[_COLUMNS][1][1].extend(group[_COLUMNS][1][1])
                for number in (_GROUP_BYTES, _GROUP_COMPRESSED):
                    _add(whole, (number,), group.get(number, (_I64, 0))[1])
            else:
                whole = group
        if _ORDINAL in whole:
            whole[_ORDINAL] = _I16, len(self._groups)
        self._groups.append(whole)
        self._rows += rows

    @staticmethod
    def _move(group: _Struct, by: int) -> None:
        """Moves the offsets in a row group."""
        _add(group, (_GROUP_OFFSET,), by)
        for chunk in group[_COLUMNS][1][1]:
            _add(chunk, _CHUNK_OFFSETS, by)
            _add(chunk[_META_DATA][1], _COLUMN_OFFSETS, by)

    def close(self) -> None:
        """Writes the footer."""
        self._footer[_NUM_ROWS] = _I64, self._rows
        self._footer[_ROW_GROUPS] = _LIST, (_STRUCT, self._groups)
        footer = bytearray()
        _write_struct(footer, self._footer)
        self._stream.write(footer + _TAIL.pack(len(footer), _MAGIC))


def _parted(file: memoryview) -> tuple[_Struct, memoryview]:
    """The footer of a Parquet file, and its data."""
    length, _ = _TAIL.unpack(file[-_TAIL.size :])
    end = len(file) - _TAIL.size - length
    return _Reader(file[end : -_TAIL.size]).struct(), file[len(_MAGIC) : end]


def _add(fields: _Struct, numbers: tuple[int, ...], by: int) -> None:
    """Adds to fields that are there and not 0, which stands for none."""
    for number in numbers:
        if number in fields and fields[number][1]:
            kind, value = fields[number]
            fields[number] = kind, value + by


class _Reader:
    """Reads Thrift's compact protocol."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> _Struct:
        """The fields of a struct."""
        fields: _Struct = {}
        number = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 15
            number = number + delta if delta else _signed(self._varint())
            fields[number] = kind, kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_I16, _I32, _I64):
            return _signed(self._varint())
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return head & 15, [self._value(head & 15) for _ in range(count)]
        if kind == _MAP:
            raise ValueError("a map in the footer of a Parquet file, which has none")
        return self._bytes(8 if kind == _DOUBLE else 1)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, length: int) -> bytes:
        self._at += length
        return bytes(self._data[self._at - length : self._at])

    def _varint(self) -> int:
        value = shift = 0
        while (part := self._byte()) & 0x80:
            value |= (part & 0x7F) << shift
            shift += 7
        return value | part << shift


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _write_varint(data: bytearray, value: int) -> None:
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)


def _write_struct(data: bytearray, fields: _Struct) -> None:
    last = 0
    for number, (given, value) in sorted(fields.items()):
        kind = given if given not in (_TRUE, _FALSE) else _TRUE if value else _FALSE
        if 0 < number - last < 16:
            data.append((number - last) << 4 | kind)
        else:
            data.append(kind)
            _write_varint(data, number << 1)
        last = number
        if kind not in (_TRUE, _FALSE):
            _write_value(data, kind, value)
    data.append(0)


def _write_value(data: bytearray, kind: int, value: Any) -> None:
    if kind in (_I16, _I32, _I64):
        _write_varint(data, value << 1 if value >= 0 else ~(value << 1))
    elif kind == _STRUCT:
        _write_struct(data, value)
    elif kind in (_LIST, _SET):
        item, values = value
        data.append(min(len(values), 15) << 4 | item)
        if len(values) >= 15:
            _write_varint(data, len(values))
        for each in values:
            _write_value(data, item, each)
    else:
        if kind == _BINARY:
            _write_varint(data, len(value))
        data += value
