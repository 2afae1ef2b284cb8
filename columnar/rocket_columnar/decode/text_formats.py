"""Record batches to lines of JSON or CSV, column by column.

Numbers become text in Arrow, strings of a dictionary are escaped once each; Python checks single values only
where they are free text, bytes or maps.
"""

import json
from base64 import b64encode
from io import BytesIO
from typing import Any

import pyarrow as pa

from rocket_columnar import arrow
from rocket_columnar.arrow import Array

FEW_ROWS = 1 << 12  # rows


def _json(value: object) -> str:
    return "null" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _base64(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode("ascii")


def _base64_texts(array: Array) -> Array:
    """The bytes of each value as base64; null for null."""
    return arrow.strings([_base64(value) for value in array.to_pylist()])


def _strings(values: list[Any]) -> Array:
    return arrow.strings([_json(value) for value in values])


def _as_json(array: Array) -> Array:
    """The JSON text of each value; `null` for null."""
    import pyarrow.compute as pc

    kind: Any = array.type
    if pa.types.is_dictionary(kind):
        texts: Array = pc.take(_strings(array.dictionary.to_pylist()), array.indices)  # type: ignore[attr-defined]
    elif pa.types.is_string(kind):
        return _strings(array.to_pylist())
    elif pa.types.is_binary(kind):
        return _strings([_base64(value) for value in array.to_pylist()])
    elif pa.types.is_map(kind):
        return _strings([None if value is None else dict(value) for value in array.to_pylist()])
    elif pa.types.is_timestamp(kind):
        texts = pc.binary_join_element_wise(arrow.strings(['"'])[0], _iso(array), arrow.strings(['"'])[0], "")
    else:
        texts = array.cast(pa.string())
    return pc.fill_null(texts, arrow.strings(["null"])[0]) if texts.null_count else texts


def _iso(array: Array) -> Array:
    """Times as ISO 8601, such as `2026-01-31T12:00:00.000Z`."""
    import pyarrow.compute as pc

    texts: Array = pc.replace_substring(array.cast(pa.string()), " ", "T")
    return texts


def jsonl_bytes(batch: pa.RecordBatch, table: str | None) -> bytes:
    """One JSON object per line, UTF-8; with `table` each begins with `"table"`. Bytes are base64, maps objects."""
    if not batch.num_rows:
        return b""
    if batch.num_rows <= FEW_ROWS:
        return _few_lines(batch, table)
    import pyarrow.compute as pc

    start = "{" if table is None else f'{{"table":{_json(table)},'
    between = [f"{_json(name)}:" for name in batch.schema.names]
    literals = arrow.strings([start + between[0], *("," + text for text in between[1:]), "}\n", ""])
    parts: list[Any] = []
    for literal, column in zip(literals, batch.columns, strict=False):
        parts += [literal, _as_json(column)]
    lines = pc.binary_join_element_wise(*parts, literals[-2], literals[-1])
    offsets, data = lines.buffers()[1:]
    first, *_, last = memoryview(offsets).cast("i")[lines.offset : lines.offset + len(lines) + 1]
    return bytes(memoryview(data)[first:last])


def _few_lines(batch: pa.RecordBatch, table: str | None) -> bytes:
    """The same without Arrow's functions, which take longer to load than a few rows take to format."""
    columns = []
    for array in batch.columns:
        values = (_iso(array) if pa.types.is_timestamp(array.type) else array).to_pylist()
        if pa.types.is_binary(array.type):
            values = [_base64(value) for value in values]
        elif pa.types.is_map(array.type):
            values = [None if value is None else dict(value) for value in values]
        columns.append(values)
    first = {} if table is None else {"table": table}
    names = batch.schema.names
    lines = [_json(first | dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def csv_header(schema: pa.Schema) -> bytes:
    """The line of column names."""
    return (",".join(schema.names) + "\n").encode()


def csv_bytes(batch: pa.RecordBatch) -> bytes:
    """The rows as CSV, UTF-8: text in quotes, null empty and without quotes, bytes base64, maps JSON."""
    import pyarrow.csv as arrow_csv

    columns = []
    for array in batch.columns:
        if pa.types.is_binary(array.type):
            columns.append(_base64_texts(array))
        elif pa.types.is_map(array.type):
            columns.append(_strings([None if value is None else dict(value) for value in array.to_pylist()]))
        elif pa.types.is_timestamp(array.type):
            columns.append(_iso(array))
        else:
            columns.append(array.cast(pa.string()) if pa.types.is_dictionary(array.type) else array)
    sink = BytesIO()
    rows = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return sink.getvalue()
