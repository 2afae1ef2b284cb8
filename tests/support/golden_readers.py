"""Every reader of the store's files, behind one face: rows as dicts with the fields of the layout tables.

Three readers that share no code beyond the layout tables: the reference, the reader that Kaitai compiled, the Construct
schema. The real Java's opinion is the golden truth; the engine's is held to it by `tests/columnar/decode/test_golden.py`.
"""

import ipaddress
import itertools
import mmap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import rocket_reference as reference
from rocket_spec import construct_schemas as construct
from rocket_spec import kaitai
from rocket_spec.layout import INDEX_ENTRY, QUEUE_UNIT, Geometry

Row = dict[str, Any]
Reader = Callable[[str, Path, Geometry], Iterable[Row]]
"""Gives the rows of a file, whose kind is the type of the truth's lines."""

FIELDS: Final = {
    "index_header": (
        "begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset", "hash_slot_count", "index_count",
    ),
    "index_entry": ("entry", "key_hash", "phy_offset", "time_diff", "prev_entry"),
    "queue_unit": ("logical_offset", "phy_offset", "size", "tags_code"),
    "ext_unit": ("address", "size", "tags_code", "store_timestamp", "bit_map"),
    "checkpoint": ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp"),
    "log_record": (
        "phy_offset", "size", "topic", "queue_id", "queue_offset", "sys_flag", "flag", "born_timestamp", "born_host",
        "store_timestamp", "store_host", "reconsume_times", "prepared_transaction_offset", "body", "body_crc",
        "properties",
    ),
}  # fmt: skip
"""The fields that all readers know, by the type of the truth's line."""
MEANT = ("crc_ok", "keys", "uniq_key", "tags", "tags_code")
"""Columns of commit_log that are computed, not laid out: for the readers that know their meaning."""


def pick(source: object, kind: str, *more: str, **known: object) -> Row:
    """The fields of a kind, those of `more`, and what is `known`: attributes, or items of a dict."""
    names = [name for name in (*FIELDS[kind], *more) if name not in known]
    row = {name: source[name] if isinstance(source, dict) else getattr(source, name) for name in names}
    return row | known


def base(path: Path) -> int:
    """The offset that a queue's or log's file name is."""
    return int(path.name)


def split_properties(data: bytes) -> dict[str, str]:
    """Well-formed properties, as a client writes them: name, byte 1, value, byte 2."""
    pairs = (pair.split("\1", 1) for pair in data.decode("utf-8").split("\2") if pair)
    return {name: value for name, value in pairs if name and value}


def host(address: bytes, port: int) -> str:
    """As the tables write a host."""
    ip = ipaddress.ip_address(address)
    return f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}"


def from_reference(kind: str, path: Path, geometry: Geometry) -> Iterable[Row]:
    """The reference's rows."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        match kind:
            case "index_header":
                return [pick(reference.index_header(data[:40]), kind)]
            case "index_entry":
                entries = reference.index_entries(data, geometry)
                return [pick(entry, kind, "slot", "store_timestamp") for entry in entries]
            case "queue_unit":
                units = reference.queue_units(data[:], base(path))
                return [pick(unit, kind, logical_offset=logical) for logical, unit in units]
            case "ext_unit":
                return [pick(unit, kind, address=at) for at, unit in reference.ext_units(data[:], base(path))]
            case "log_record":
                records = reference.records(data[:])
                return [pick(one, kind, *MEANT, properties=dict(one.properties)) for _, one in records]
            case _:
                return [pick(reference.checkpoint(data[:]), kind)]


def _used(path: Path) -> bytes:
    """A queue file's bytes to the last that is not zero and a unit of zeros more: the slow readers' share."""
    data = path.read_bytes()
    used = -(-len(data.rstrip(b"\0")) // QUEUE_UNIT.size) + 1
    return data[: used * QUEUE_UNIT.size]


def _kaitai_index(path: Path, geometry: Geometry) -> kaitai.Indexfile:
    return kaitai.Indexfile(*geometry, kaitai.stream(path.open("rb")))


def from_kaitai(kind: str, path: Path, geometry: Geometry) -> Iterable[Row]:
    """The rows of the reader that Kaitai compiled."""
    match kind:
        case "index_header":
            return [pick(_kaitai_index(path, geometry).header, kind)]
        case "index_entry":
            entries = enumerate(_kaitai_index(path, geometry).entries, 1)
            return [pick(entry, kind, "store_timestamp", entry=number) for number, entry in entries]
        case "queue_unit":
            units = enumerate(kaitai.Consumequeue.from_bytes(_used(path)).units, base(path) // 20)
            return [
                pick(unit, kind, logical_offset=number, size=unit.len_record)
                for number, unit in units
                if unit.len_record > 0
            ]
        case "ext_unit":
            found = [
                unit for unit in kaitai.ConsumequeueExt.from_bytes(path.read_bytes()).units if unit.is_unit
            ]
            return _ext_rows(path, [pick(unit, kind, address=0, size=unit.len_unit) for unit in found])
        case "log_record":
            frames = kaitai.Commitlog.from_bytes(path.read_bytes()).frames
            return [_log_row(frame.record, frame.len_total) for frame in frames if frame.is_record]
        case _:
            return [pick(kaitai.Checkpoint.from_bytes(path.read_bytes()), kind)]


def from_construct(kind: str, path: Path, geometry: Geometry) -> Iterable[Row]:
    """The rows of the Construct schema."""
    match kind:
        case "index_header":
            return [pick(construct.INDEX_HEADER.parse(path.open("rb").read(40)), kind)]
        case "index_entry":  # a list of twenty million containers does not fit: entry by entry
            with path.open("rb") as file:
                count = construct.INDEX_HEADER.parse(file.read(40))["index_count"]
                file.seek(geometry.entries_offset + INDEX_ENTRY.size)
                entries = [construct.INDEX_ENTRY.parse(file.read(INDEX_ENTRY.size)) for _ in range(1, count)]
            return [pick(entry, kind, entry=number) for number, entry in enumerate(entries, 1)]
        case "queue_unit":
            units = enumerate(construct.QUEUE_FILE.parse(_used(path)), base(path) // 20)
            return [pick(unit, kind, logical_offset=number) for number, unit in units if unit["size"] > 0]
        case "ext_unit":
            found = construct.EXT_FILE.parse(path.read_bytes())["units"]
            return _ext_rows(path, [pick(unit, kind, address=0) for unit in found])
        case "log_record":
            records = construct.COMMIT_LOG.parse(path.read_bytes())["records"]
            return [_log_row(record, record["total_size"]) for record in records]
        case _:
            return [pick(construct.CHECKPOINT.parse(path.read_bytes()), kind)]


def _ext_rows(path: Path, rows: list[Row]) -> list[Row]:
    """Ext units with their addresses, which follow from their sizes."""
    ends = itertools.accumulate((row["size"] for row in rows), initial=base(path) - (1 << 63))
    return [row | {"address": address} for row, address in zip(rows, ends, strict=False)]


def _log_row(record: Any, size: int) -> Row:
    raw = pick(record, "log_record", size=size)
    hosts = {}
    for name in ("born_host", "store_host"):
        parts = raw[name]
        hosts[name] = host(**parts) if isinstance(parts, dict) else host(parts.address, parts.port)
    properties = split_properties(raw["properties"])
    return raw | hosts | {"topic": raw["topic"].decode(), "properties": properties}


def slots(reader: str, path: Path, geometry: Geometry) -> dict[int, int]:
    """The used slots with their newest entries, by the reference, Kaitai or Construct."""
    if reader == "kaitai":
        used: dict[int, int] = dict(enumerate(_kaitai_index(path, geometry).slots))
    elif reader == "construct":
        used = dict(enumerate(construct.index_file(geometry).parse(path.read_bytes())["slots"]))
    else:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            used = dict(reference.index_slots(data, geometry))
    return {slot: entry for slot, entry in used.items() if entry}


READERS: Final[dict[str, Reader]] = {
    "reference": from_reference,
    "kaitai": from_kaitai,
    "construct": from_construct,
}
