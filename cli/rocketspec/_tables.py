"""Rows as lines of aligned columns."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

_LEAST: Final = 8  # columns of the terminal that a text keeps


def columns(
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    whole: Collection[int] = (),
    width: int | None = None,
) -> Iterator[str]:
    """Rows as lines of aligned columns; those numbered in `right` are set to the right, those in `whole` never cut.

    The widest texts are cut for the `width` of a terminal, in columns; None for no limit. If the columns do not fit even so, each value has a
    line of its own, after its name in the first row.
    """
    kept = list(rows)
    widths = cut_widths([max(map(cell_len, column)) for column in zip(*kept, strict=True)], whole, width)
    if width is not None and span(widths) > width:
        for row in kept[1:]:
            yield from block(kept[0], row, width)
    else:
        for row in kept:
            yield aligned(row, widths, right)


def block(names: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    """A row as lines of name and value, and an empty line."""
    longest = max(map(len, names))
    room = max(width - longest - 2, _LEAST)
    for name, value in zip(names, row, strict=True):
        yield aligned((name, value), (longest, min(cell_len(value), room)), ())
    yield ""


def span(widths: Sequence[int]) -> int:
    """The width of a line."""
    return sum(widths) + 2 * (len(widths) - 1)


def cut_widths(widths: Sequence[int], whole: Collection[int], width: int | None) -> list[int]:
    """The widths, with the widest of those that are not `whole` cut until a line fits `width` columns."""
    shown = list(widths)
    texts = [place for place in range(len(shown)) if place not in whole]
    while width is not None and texts and span(shown) > width:
        widest = max(texts, key=lambda place: shown[place])
        if shown[widest] <= _LEAST:
            break
        shown[widest] -= min(shown[widest] - _LEAST, span(shown) - width)
    return shown


def aligned(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    """A line; a text that is too wide ends in `~`."""
    parts = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        length = cell_len(cell)
        if length > width:
            parts.append(set_cell_size(cell, width - 1) + "~")
        elif place in right:
            parts.append(" " * (width - length) + cell)
        else:
            parts.append(cell + " " * (width - length))
    return "  ".join(parts).rstrip()
