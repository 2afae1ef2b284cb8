"""Checks the timer wheel and its log of 5.x: units against records, slots against units (TIM-1 to TIM-4)."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import FormatError
from rocket_spec.later_layouts import TIMER_SLOT, TIMER_UNIT

from rocket_columnar.decode import decode
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.log import StoredRecords
from rocket_columnar.store import StoreFile

_TOPIC: Final = "rmq_sys_wheel_timer"
_UNIT: Final = ["position", "prev_position", "phy_offset", "record_size"]
_SLOT: Final = ["slot", "first_position", "last_position"]


def check_timers(store: Store) -> Iterator[Finding]:
    """The findings on the timer log and the wheel; records and units that came after the plan was made are not judged.

    Records and units before the first file of their log have expired, and are not judged either. Nor are the slots of a
    store in use, which is read while they change, or of a log that cannot be read.
    """
    log = [file for file in store.timers if file.kind == "timer_log"]
    begin = end = log[0].base_offset if log else 0
    whole = True
    for file in store.timers:  # the log first
        wheel = file.kind == "timer_wheel"
        if wheel and (store.live or not whole or file.path.name != "timerwheel"):
            continue
        try:
            for rows in _columns(file, file.kind, _SLOT if wheel else _UNIT):
                if wheel:
                    yield from _slots(file, rows, begin, end)
                else:
                    yield from _units(store, file, rows)
                    end = max(end, int(rows["position"][-1]) + TIMER_UNIT.size)
        except FormatError as error:
            whole = False
            code, clause = ("timer.slot", "TIM-2") if wheel else ("timer.unit", "TIM-3")
            text = f"found {error.found}, expected {error.expected}"
            yield finding(code, file.name, error.offset, text, clause=clause)


def _columns(file: StoreFile, table: str, names: list[str]) -> Iterator[dict[str, NDArray[Any]]]:
    try:
        for _, batch in decode([file], tables=[table], columns=names):
            if batch.num_rows:
                yield {name: batch.column(name).to_numpy() for name in names}
    except FileNotFoundError:  # expired meanwhile
        return


def _units(store: Store, file: StoreFile, rows: dict[str, NDArray[Any]]) -> Iterator[Finding]:
    def found(row: int, field: str, text: str) -> Finding:
        at = int(rows["position"][row]) - file.base_offset + TIMER_UNIT.offset_of(field)
        return finding("timer.unit", file.name, at, text, clause="TIM-3")

    previous, position = rows["prev_position"], rows["position"]
    for row in np.flatnonzero((previous < -1) | (previous >= position)).tolist():
        text = f"found prev_position {previous[row]:,}, expected -1 or one before {position[row]:,}"
        yield found(row, "prev_position", text)
    offsets = rows["phy_offset"]
    judged = np.flatnonzero((offsets < 0) | ((offsets >= store.begin) & (offsets < store.end)))
    with StoredRecords(store.logs) as records:
        for row in judged.tolist():
            phy_offset, size = int(offsets[row]), int(rows["record_size"][row])
            record = records.at(phy_offset)
            if record is None or record.fixed.total_size != size:
                text = f"no record of {size:,} bytes begins at physical offset {phy_offset:,}"
                yield found(row, "phy_offset", text)
            elif record.topic != _TOPIC:
                text = f"the record at physical offset {phy_offset:,} is of {record.topic}, expected {_TOPIC}"
                yield found(row, "phy_offset", text)


def _slots(file: StoreFile, rows: dict[str, NDArray[Any]], begin: int, end: int) -> Iterator[Finding]:
    """Slots whose last unit was to be read: at or after the log's first file."""
    for name in ("first_position", "last_position"):
        places = rows[name]
        for row in np.flatnonzero((places >= begin) & (places > end - TIMER_UNIT.size)).tolist():
            at = int(rows["slot"][row]) * TIMER_SLOT.size + TIMER_SLOT.offset_of(name)
            text = f"found {name} {places[row]:,}, but the timer log ends at {end:,}"
            yield finding("timer.slot", file.name, at, text, clause="TIM-1")
