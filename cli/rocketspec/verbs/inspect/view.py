"""Prints a file or one of its bytes for `inspect`: as JSON, or as lines that fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.formats import iso
from rocket_spec.clauses import clauses
from rocket_spec.layout import INDEX_HEADER

from rocketspec._tables import columns

if TYPE_CHECKING:
    from rocket_columnar.describe import ByteMeaning, FieldValue, Occupancy, Summary
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.store import StoreFile


_BAR: Final = 40
_LENGTHS: Final = 10  # chain lengths shown one by one
_TOPICS: Final = 10
_SURE: Final = {"given": "given", "inferred": "inferred from size and content", "assumed": "assumed"}


def _geometry_as_json(guess: GeometryGuess) -> dict[str, Any]:
    slots, entries = guess.geometry
    return {"hash_slot_num": slots, "index_num": entries} | {
        name: value for name, value in asdict(guess).items() if name != "geometry"
    }


def index_as_json(file: StoreFile, guess: GeometryGuess, filled: Occupancy) -> dict[str, Any]:
    """The content of `index_lines`, as one object."""
    facts = asdict(filled)
    del facts["times"], facts["slot_shares"]
    chains = [{"length": length, "chains": number} for length, number in facts.pop("chains")]
    return {
        "file": file.name,
        "kind": file.kind,
        "size": file.path.stat().st_size,
        "geometry": _geometry_as_json(guess),
        "header": facts.pop("header"),
        "chains": chains,
    } | facts


def byte_as_json(file: StoreFile, meaning: ByteMeaning, guess: GeometryGuess | None) -> dict[str, Any]:
    """The content of `byte_lines`, as one object; `field` is the name of the field that holds the byte."""
    facts = asdict(meaning)
    facts["field"] = None if meaning.field is None else meaning.fields[meaning.field].name
    geometry = {} if guess is None else {"geometry": _geometry_as_json(guess)}
    return {"file": file.name, "kind": file.kind} | geometry | facts


def _rows(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Name, value and meaning in aligned columns."""
    return (f"  {line}" for line in columns(rows, right={1}))


def index_lines(file: StoreFile, guess: GeometryGuess, filled: Occupancy) -> Iterator[str]:
    """Header, geometry, occupancy, chain lengths, times and oddities."""
    slots, entries = guess.geometry
    yield f"{file.name}: index file, {file.path.stat().st_size:,} bytes"
    sure = _SURE[guess.how]
    if guess.how == "inferred" and guess.candidates > 1:
        sure += f", the best of {guess.candidates:,} that fit"
    yield f"geometry: {slots:,} slots, {entries:,} entries ({sure}: {guess.reason})"
    yield ""
    yield "header"
    yield from _rows(_header_rows(filled))
    yield ""
    yield "occupancy"
    yield from _rows(
        (
            (
                "entries",
                f"{filled.entries:,}",
                f"of {filled.capacity:,}{_percent(filled.entries, filled.capacity)}",
            ),
            ("used slots", f"{filled.used_slots:,}", f"of {slots:,}{_percent(filled.used_slots, slots)}"),
            ("load", f"{filled.entries / slots:.3g}", "entries per slot"),
            ("longest chain", f"{max((length for length, _ in filled.chains), default=0):,}", "entries"),
        )
    )
    if filled.begin_timestamp is not None and filled.end_timestamp is not None:
        yield ""
        yield "range of the entries"
        first, last = iso(filled.begin_timestamp), iso(filled.end_timestamp)
        yield f"  {first} to {last}, store times in the index"
        yield f"  physical offsets {filled.begin_phy_offset:,} to {filled.end_phy_offset:,}"
    if filled.chains:
        yield ""
        yield "chains by length"
        yield from _histogram(filled)
    if filled.oddities:
        yield ""
        yield "oddities"
        yield from (f"  {oddity.text} ({oddity.clause})" for oddity in filled.oddities)


def _percent(part: int, whole: int) -> str:
    if not whole:
        return ""
    share = 100 * part / whole
    return ", under 0.1 %" if 0 < share < 0.1 else f", {share:.1f} %"


def _header_rows(filled: Occupancy) -> Iterator[tuple[str, str, str]]:
    for field in INDEX_HEADER.fields:
        value: int = getattr(filled.header, field.name)
        if field.name.endswith("_timestamp"):
            yield field.name, str(value), f"{iso(value)}, {field.doc.split(',')[0].removeprefix('store ')}"
        else:
            yield field.name, f"{value:,}", field.doc


def _histogram(filled: Occupancy) -> Iterator[str]:
    """A bar for each short length, then one for each doubling."""
    groups: dict[tuple[int, int], int] = {}
    for length, number in filled.chains:
        group = (length, length)
        if length > _LENGTHS:
            low = 1 << (length - 1).bit_length() - 1
            group = (max(low + 1, _LENGTHS + 1), 2 * low)
        groups[group] = groups.get(group, 0) + number
    most = max(groups.values())
    width = max(len(f"{number:,}") for number in groups.values())
    for (low, high), number in groups.items():
        name = f"{low}" if low == high else f"{low}-{high}"
        yield f"  {name:>9}  {number:>{width},}  {'#' * max(1, round(_BAR * number / most))}"


def fact_lines(file: StoreFile, facts: Summary) -> Iterator[str]:
    """The summary of a file of another kind."""
    names = {"queue": "consume-queue file", "ext": "consume-queue ext file", "log": "commit-log file"}
    yield f"{file.name}: {names.get(file.kind, file.kind)}, {facts['size']:,} bytes"
    yield from _rows(_fact_rows(facts))


def _fact_rows(facts: Summary) -> Iterator[tuple[str, str, str]]:
    for name, value in facts.items():
        if name == "topics":
            for topic, number in list(value.items())[:_TOPICS]:
                yield "topic", f"{number:,}", topic
            if len(value) > _TOPICS:
                yield "topics", f"{len(value):,}", "in total"
        elif name == "gaps":
            for gap in value:
                yield "gap", f"{gap['begin']:,}", f"to {gap['end']:,}: found {gap['found']}"
        elif isinstance(value, dict):
            text = ", ".join(f"{key} {_plain(key, part)}" for key, part in value.items())
            yield name, "", text
        elif value is not None and name != "size":
            is_time = name.endswith("_timestamp")
            yield name, str(value) if is_time else _plain(name, value), iso(value) if is_time else ""


def _plain(name: str, value: object) -> str:
    if name.endswith("_timestamp") and isinstance(value, int):
        return iso(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return str(value) if name in ("tags_code", "address") else f"{value:,}"


def byte_lines(file: StoreFile, meaning: ByteMeaning, guess: GeometryGuess | None) -> Iterator[str]:
    """The byte, its field and the structure around it."""
    number = "" if meaning.number is None else f" {meaning.number:,}"
    yield f"{file.name}: byte {meaning.offset:,} is 0x{meaning.byte:02X}"
    yield f"in {meaning.structure}{number}, bytes {meaning.begin:,} to {meaning.end - 1:,}"
    if meaning.remark:
        yield f"   {meaning.remark}"
    if guess is not None:
        slots, entries = guess.geometry
        yield f"   with {slots:,} slots and {entries:,} entries ({_SURE[guess.how]})"
    if meaning.field is not None:
        field = meaning.fields[meaning.field]
        place = meaning.offset - field.offset
        yield ""
        yield f"field {field.name} ({field.java}, {field.type}), its byte {place} of {field.size}"
        yield f"   value    {_value(field)}"
        yield f"   meaning  {field.doc}"
        yield f"   clause   {field.clause}: {_clause(field.clause)}"
    if meaning.fields:
        yield ""
        rows = [(f"{field.offset:,}", field.name, _value(field)) for field in meaning.fields]
        for place, line in enumerate(columns(rows, right={0})):
            yield f"{'>' if place == meaning.field else ' '} {line}"


def _value(field: FieldValue) -> str:
    return f"{field.value}{f' ({field.meaning})' if field.meaning else ''}"


def _clause(clause_id: str) -> str:
    clause = clauses().get(clause_id)
    return "" if clause is None else clause.summary
