"""The layouts that 5.x adds, as data (`later_layouts.txt`); names of its sources are those of 5.5.1."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from rocket_spec.layout import CHECKPOINT, RECORD, Layout, layout_of, read_layouts

LONG_TOPIC_RECORD: Final = Layout(
    "commit-log record of a long topic",
    tuple(
        replace(one, type="i16", clause="LOG-REC-10") if one.name == "topic_length" else one
        for one in RECORD.fields
    ),
)
"""A record of the magic of 5.1.0."""

_READ: Final = read_layouts(Path(__file__).with_suffix(".txt"))
LATER_CHECKPOINT: Final = layout_of(
    "checkpoint of 5.x",
    "CKP-5",
    (
        (one.name, one.type, one.java, one.doc)
        for one in (*CHECKPOINT.fields, *_READ["checkpoint of 5.x"].fields)
    ),
)

LATER_LAYOUTS: Final = _READ | {LATER_CHECKPOINT.name: LATER_CHECKPOINT}
"""The structures that 5.x adds, by name."""

BATCH_UNIT: Final = LATER_LAYOUTS["batch consume-queue unit"]
TIMER_SLOT: Final = LATER_LAYOUTS["timer-wheel slot"]
TIMER_UNIT: Final = LATER_LAYOUTS["timer-log unit"]
