"""One index file: header, put, select, geometry, entries; and index files in bulk."""

from rocket_columnar.index.bulk_build import IndexBuilder, build, plain
from rocket_columnar.index.geometry import (
    GeometryGuess,
    IndexHeader,
    read_header,
    read_headers,
    resolve,
    resolve_each,
    resolve_some,
)
from rocket_columnar.index.index_file import EntryFields, IndexFile, RejectedError
from rocket_columnar.index.raw_index import (
    EntryWindows,
    IndexState,
    entry_position,
    hashes_at,
    resolve_by_records,
    slot_position,
)
