"""`decode --format table`: rows for people, with ISO times, bodies as text or hex, and aligned columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rocket_columnar.formats import iso
from rocket_spec.printable import printable

from rocketspec._tables import aligned, block, columns, cut_widths, span
from rocketspec._terminal import terminal_width

if TYPE_CHECKING:
    import pyarrow as pa


_ROWS: Final = 500  # that are aligned together


def print_tables(batches: Iterable[tuple[str, pa.RecordBatch]], *, titles: bool) -> None:
    """Prints batches as aligned text; `titles` names each table.

    Only a terminal's width cuts wide texts; if the columns do not fit it even so, each value has a line of its own.
    """
    width = terminal_width()
    before = None
    for table, batch in batches:
        if table != before:
            if titles:
                sys.stdout.write(f"{'' if before is None else chr(10)}{table}\n")
            widths = [0] * batch.num_columns
            if not batch.num_rows:
                sys.stdout.writelines(f"{line}\n" for line in columns([batch.schema.names]))
        for begin in range(0, batch.num_rows, _ROWS):
            part = batch.slice(begin, _ROWS)
            names = part.schema.names
            numbers = [place for place, column in enumerate(part.columns) if _is_number(names[place], column)]
            rows = list(_cells(part))
            header = [] if any(widths) else [names]
            widths = [
                max(old, *(cell_len(row[place]) for row in [*header, *rows]))
                for place, old in enumerate(widths)
            ]
            shown = cut_widths(widths, numbers, width)
            if width is not None and span(shown) > width:
                sys.stdout.writelines(f"{line}\n" for row in rows for line in block(names, row, width))
            else:
                sys.stdout.writelines(f"{aligned(row, shown, numbers)}\n" for row in [*header, *rows])
        before = table


def _is_number(name: str, column: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(column.type) and not name.endswith("_timestamp")


def _cells(batch: pa.RecordBatch) -> Iterator[list[str]]:
    names = batch.schema.names
    for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        yield [_text(name, value) for name, value in zip(names, values, strict=True)]


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return iso(value) if name.endswith("_timestamp") else str(value)
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, list):
        return printable(", ".join(f"{key}={part}" for key, part in value), limit=None)
    return printable(str(value), limit=None)


def _bytes(value: bytes) -> str:
    """Text, if all of it is; else hexadecimal digits."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return value.hex()
    readable = all(char.isprintable() or char in "\t\r\n" for char in text)
    return printable(text, limit=None) if readable else value.hex()
