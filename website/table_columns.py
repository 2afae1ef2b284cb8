"""The meaning of each column of the decoded tables, with its unit and clause, from the layouts or, where they have none, `columns.txt`."""

from pathlib import Path
from typing import Final, NamedTuple

from rocket_spec.later_layouts import BATCH_UNIT, LATER_CHECKPOINT, TIMER_SLOT, TIMER_UNIT
from rocket_spec.layout import EXT_UNIT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, RECORD, Layout
from rocket_spec.tables import TABLES


class Described(NamedTuple):
    """A column: its type, meaning (with the unit) and clause; the clause is empty if rocketspec adds the column."""

    name: str
    type: str
    meaning: str
    clause: str


_LAYOUTS: Final[dict[str, Layout]] = {
    "index_headers": INDEX_HEADER,
    "index_entries": INDEX_ENTRY,
    "consume_queue": QUEUE_UNIT,
    "commit_log": RECORD,
    "checkpoint": LATER_CHECKPOINT,
    "batch_consume_queue": BATCH_UNIT,
    "timer_wheel": TIMER_SLOT,
    "timer_log": TIMER_UNIT,
    "consume_queue_ext": EXT_UNIT,
}
_TEXT: Final = Path(__file__).with_name("columns.txt").read_text("utf-8").splitlines()
ROWS: Final = dict(line.split(": ", 1) for line in _TEXT if not line.startswith(" "))
"""The rows of each table in a sentence."""


def _others(table: str) -> dict[str, tuple[str, str]]:
    """Meaning and clause of the columns that no layout has: the indented lines below the table's."""
    found = {"file": ("path of the file, relative to the store", "")}
    for line in _TEXT[_TEXT.index(f"{table}: {ROWS[table]}") + 1 :]:
        if not line.startswith(" "):
            break
        name, meaning, clause = line.strip().split(" | ")
        found[name] = meaning, clause
    return found


def describe_columns(table: str) -> list[Described]:
    """The columns of a table of `rocket_spec.tables`, in order; KeyError for one without a description."""
    layout = _LAYOUTS.get(table)
    fields = {} if layout is None else {field.name: (field.doc, field.clause) for field in layout.fields}
    known = fields | _others(table)
    return [Described(column.name, column.type, *known[column.name]) for column in TABLES[table]]
