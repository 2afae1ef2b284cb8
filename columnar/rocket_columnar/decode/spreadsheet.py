"""Texts that a spreadsheet would run as formulas when it opens a CSV file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from rocket_columnar.decode.text_formats import base64_texts

if TYPE_CHECKING:
    from rocket_columnar.arrow import Array

__all__ = ["without_formulas"]

_FORMULA: Final = r"\A[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""First characters that Excel, LibreOffice or Google Sheets take for the beginning of a formula, full-width forms too, or skip."""


def without_formulas(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """The rows with an apostrophe before each text that begins like a formula, and the number of these texts.

    Bytes become base64 texts, as CSV shows them: such a text may begin with `+`. Numbers and maps stay: a negative number
    is none, and a map begins with a brace.
    """
    import pyarrow.compute as pc

    columns: list[Array] = []
    found = 0
    for array in batch.columns:
        kind: Any = array.type
        if pa.types.is_binary(kind):
            texts = base64_texts(array)
        elif pa.types.is_dictionary(kind) or pa.types.is_string(kind):
            texts = array.cast(pa.string())
        else:
            columns.append(array)
            continue
        number = pc.match_substring_regex(texts, _FORMULA).true_count
        found += number
        columns.append(pc.replace_substring_regex(texts, rf"({_FORMULA})", r"'\1") if number else array)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names), found
