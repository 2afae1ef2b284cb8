"""The byte explainer, on files whose every byte is known."""

import struct
from collections.abc import Iterator
from pathlib import Path

from rocket_columnar.describe import byte_at
from rocket_columnar.store import Kind, StoreFile
from rocket_spec.layout import CHECKPOINT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, RECORD, Geometry
from store_bytes import BEGIN as T
from store_bytes import Entry, index_file, put, record, unit

GEOMETRY = Geometry(7, 12)
INDEX = index_file(7, 12, [Entry(8, 0, 0), Entry(15, 200, 5)])


def file(tmp_path: Path, kind: Kind, data: bytes, base: int = 0) -> StoreFile:
    path = put(tmp_path, "file", data)
    return StoreFile(kind, path, "file", base_offset=base)


def test_every_byte_has_its_field_from_the_layout_tables(tmp_path: Path) -> None:
    def seen(kind: Kind, data: bytes, geometry: Geometry | None = None) -> Iterator[str]:
        damaged = file(tmp_path, kind, data)
        for offset in range(len(data)):
            meaning = byte_at(damaged, offset, geometry)
            assert meaning.field is not None
            found = meaning.fields[meaning.field]
            assert found.offset <= offset < found.offset + found.size
            yield found.name

    names = [field.name for field in INDEX_HEADER.fields]
    assert set(seen("index", INDEX, GEOMETRY)) == {
        *names,
        "entry",
        *(field.name for field in INDEX_ENTRY.fields),
    }
    assert set(seen("queue", unit(1, 2, 3))) == {field.name for field in QUEUE_UNIT.fields}
    log = record(0, properties=b"A\1b\2")
    assert set(seen("log", log)) == {field.name for field in RECORD.fields}
    assert list(dict.fromkeys(seen("checkpoint", struct.pack(">qqq", T, T, T)))) == [
        field.name for field in CHECKPOINT.fields
    ]
