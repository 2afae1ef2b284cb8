"""`decode --format table`: rows for people, with ISO times, bodies as text or hex, and aligned columns."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len, set_cell_size
from rocket_columnar.formats import iso
from rocket_spec.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa


_ROWS: Final = 500  # that are aligned together
_LEAST: Final = 8  # columns of the terminal that a text keeps


def print_tables(batches: Iterable[tuple[str, pa.RecordBatch]], *, titles: bool) -> None:
    """Prints batches as aligned text; `titles` names each table.

    Only a terminal's width cuts wide texts; if the columns do not fit it even so, each value has a line of its own.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    before = None
    for table, batch in batches:
        if table != before:
            if titles:
                sys.stdout.write(f"{'' if before is None else chr(10)}{table}\n")
            widths = [0] * batch.num_columns
            if not batch.num_rows:
                sys.stdout.write(_line(batch.schema.names, list(map(len, batch.schema.names)), []))
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
            shown = _fitted(widths, numbers, width)
            if width is not None and _span(shown) > width:
                sys.stdout.write("".join(_block(names, row, width) for row in rows))
            else:
                sys.stdout.write("".join(_line(row, shown, numbers) for row in [*header, *rows]))
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


def _span(widths: Sequence[int]) -> int:
    """Columns of a line."""
    return sum(widths) + 2 * (len(widths) - 1)


def _block(names: Sequence[str], row: Sequence[str], width: int) -> str:
    """A row as lines of name and value, and an empty line."""
    longest = max(map(len, names))
    room = max(width - longest - 2, _LEAST)
    return (
        "".join(
            _line(pair, (longest, min(cell_len(pair[1]), room)), ()) for pair in zip(names, row, strict=True)
        )
        + "\n"
    )


def _fitted(widths: Sequence[int], numbers: Sequence[int], width: int | None) -> list[int]:
    """The widths, with the widest texts cut until a line fits `width` columns."""
    shown = list(widths)
    texts = [place for place in range(len(shown)) if place not in numbers]
    while width is not None and texts and _span(shown) > width:
        widest = max(texts, key=lambda place: shown[place])
        if shown[widest] <= _LEAST:
            break
        shown[widest] -= min(shown[widest] - _LEAST, _span(shown) - width)
    return shown


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[int]) -> str:
    parts = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        length = cell_len(cell)
        if length > width:
            parts.append(set_cell_size(cell, width - 1) + "~")
        elif place in numbers:
            parts.append(" " * (width - length) + cell)
        else:
            parts.append(cell + " " * (width - length))
    return "  ".join(parts).rstrip() + "\n"
