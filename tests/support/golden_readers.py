"""Every reader of the store's files, behind one face: rows as dicts with the fields of the layout tables.

Four readers that share no code beyond the layout tables: the reference, the engine, the reader that Kaitai
compiled, the Construct schema. The fifth opinion, the real Java's, is the golden truth.
"""

from __future__ import annotations

import ipaddress
import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import rocket_reference as reference
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec import construct_schemas as construct
from rocket_spec import kaitai
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, QUEUE_UNIT, Geometry

Row = dict[str, Any]
Reader = Callable[[Path, Geometry], Iterator[Row]]

HEADER = (
    "begin_timestamp",
    "end_timestamp",
    "begin_phy_offset",
    "end_phy_offset",
    "hash_slot_count",
    "index_count",
)
ENTRY = ("entry", "key_hash", "phy_offset", "time_diff", "prev_entry")
UNIT = ("logical_offset", "phy_offset", "size", "tags_code")
EXT = ("address", "size", "tags_code", "store_timestamp", "bit_map")
CHECKPOINT = ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")
RECORD = (
    "phy_offset", "size", "topic", "queue_id", "queue_offset", "sys_flag", "flag", "born_timestamp", "born_host",
    "store_timestamp", "store_host", "reconsume_times", "prepared_transaction_offset", "body", "body_crc",
    "properties",
)  # fmt: skip
MEANT = ("crc_ok", "keys", "uniq_key", "tags", "tags_code")
"""Columns of commit_log that are computed, not laid out: for the readers that know their meaning."""


def pick(source: object, names: tuple[str, ...]) -> Row:
    """Those attributes, or items of a dict."""
    if isinstance(source, dict):
        return {name: source[name] for name in names}
    return {name: getattr(source, name) for name in names}


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


# The engine: every table from one call.


def engine(table: str) -> Reader:
    """The engine's rows of a table."""

    def read(path: Path, geometry: Geometry) -> Iterator[Row]:
        given = geometry if table.startswith("index") else None
        for _, batch in decode(find_files(path), tables=[table], geometry=given):
            for row in batch.to_pylist():
                if isinstance(row.get("properties"), list):
                    row["properties"] = dict(row["properties"])
                yield row

    return read


# Index files.


def _reference_header(path: Path, _: Geometry) -> Iterator[Row]:
    with path.open("rb") as file:
        yield pick(reference.index_header(file.read(40)), HEADER)


def _kaitai_index(path: Path, geometry: Geometry) -> kaitai.Indexfile.Table:
    return kaitai.Indexfile.Table(*geometry, kaitai.stream(path.open("rb")))


def _kaitai_header(path: Path, _: Geometry) -> Iterator[Row]:
    yield pick(kaitai.Indexfile(kaitai.stream(path.open("rb"))).header, HEADER)


def _construct_header(path: Path, _: Geometry) -> Iterator[Row]:
    with path.open("rb") as file:
        yield pick(construct.INDEX_HEADER.parse(file.read(40)), HEADER)


def _reference_entries(path: Path, geometry: Geometry) -> Iterator[Row]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for entry in reference.index_entries(data, geometry):
            yield pick(entry, (*ENTRY, "slot", "store_timestamp"))


def _kaitai_entries(path: Path, geometry: Geometry) -> Iterator[Row]:
    for number, entry in enumerate(_kaitai_index(path, geometry).entries, 1):
        yield {"entry": number, **pick(entry, (*ENTRY[1:], "store_timestamp"))}


def _construct_entries(path: Path, geometry: Geometry) -> Iterator[Row]:
    if geometry == DEFAULT_GEOMETRY:  # a list of twenty million containers does not fit: entry by entry
        with path.open("rb") as file:
            count = construct.INDEX_HEADER.parse(file.read(40))["index_count"]
            file.seek(geometry.entries_offset + INDEX_ENTRY.size)
            rows = [construct.INDEX_ENTRY.parse(file.read(INDEX_ENTRY.size)) for _ in range(1, count)]
    else:
        parsed = construct.index_file(geometry).parse(path.read_bytes())
        rows = parsed["entries"][1 : parsed["header"]["index_count"]]
    for number, row in enumerate(rows, 1):
        yield {"entry": number, **pick(row, ENTRY[1:])}


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


# Consume queues and ext files.


def _reference_units(path: Path, _: Geometry) -> Iterator[Row]:
    for logical, unit in reference.queue_units(path.read_bytes(), base(path)):
        yield {"logical_offset": logical, **pick(unit, UNIT[1:])}


def _used(path: Path) -> bytes:
    """A queue file's bytes to the last that is not zero and a unit of zeros more: the slow readers' share."""
    data = path.read_bytes()
    used = -(-len(data.rstrip(b"\0")) // QUEUE_UNIT.size) + 1
    return data[: used * QUEUE_UNIT.size]


def _kaitai_units(path: Path, _: Geometry) -> Iterator[Row]:
    for number, unit in enumerate(kaitai.Consumequeue.from_bytes(_used(path)).units):
        if unit.len_record > 0:
            yield {
                "logical_offset": base(path) // 20 + number,
                "size": unit.len_record,
                **pick(unit, ("phy_offset", "tags_code")),
            }


def _construct_units(path: Path, _: Geometry) -> Iterator[Row]:
    for number, unit in enumerate(construct.QUEUE_FILE.parse(_used(path))):
        if unit["size"] > 0:
            yield {"logical_offset": base(path) // 20 + number, **pick(unit, UNIT[1:])}


def _reference_ext(path: Path, _: Geometry) -> Iterator[Row]:
    for address, unit in reference.ext_units(path.read_bytes(), base(path)):
        yield {"address": address, **pick(unit, EXT[1:])}


def _kaitai_ext(path: Path, _: Geometry) -> Iterator[Row]:
    position = base(path) - (1 << 63)
    for unit in kaitai.ConsumequeueExt.from_bytes(path.read_bytes()).units:
        if not unit.is_unit:
            return
        yield {"address": position, "size": unit.len_unit, **pick(unit, EXT[2:])}
        position += unit.len_unit


def _construct_ext(path: Path, _: Geometry) -> Iterator[Row]:
    position = base(path) - (1 << 63)
    for unit in construct.EXT_FILE.parse(path.read_bytes())["units"]:
        yield {"address": position, **pick(unit, EXT[1:])}
        position += unit["size"]


# Commit logs.


def _reference_log(path: Path, _: Geometry) -> Iterator[Row]:
    for _position, record in reference.records(path.read_bytes()):
        yield {**pick(record, (*RECORD, *MEANT)), "properties": dict(record.properties)}


def _kaitai_log(path: Path, _: Geometry) -> Iterator[Row]:
    for frame in kaitai.Commitlog.from_bytes(path.read_bytes()).frames:
        if frame.is_record:
            record = frame.record
            yield {
                **pick(record, tuple(name for name in RECORD if name != "size")),
                "size": frame.len_total,
                "topic": record.topic.decode(),
                "born_host": host(record.born_host.address, record.born_host.port),
                "store_host": host(record.store_host.address, record.store_host.port),
                "properties": split_properties(record.properties),
            }


def _construct_log(path: Path, _: Geometry) -> Iterator[Row]:
    for record in construct.COMMIT_LOG.parse(path.read_bytes())["records"]:
        yield {
            **pick(record, tuple(name for name in RECORD if name != "size")),
            "size": record["total_size"],
            "topic": record["topic"].decode(),
            "born_host": host(**record["born_host"]),
            "store_host": host(**record["store_host"]),
            "properties": split_properties(record["properties"]),
        }


# The checkpoint.


def _reference_checkpoint(path: Path, _: Geometry) -> Iterator[Row]:
    yield pick(reference.checkpoint(path.read_bytes()), CHECKPOINT)


def _kaitai_checkpoint(path: Path, _: Geometry) -> Iterator[Row]:
    yield pick(kaitai.Checkpoint.from_bytes(path.read_bytes()), CHECKPOINT)


def _construct_checkpoint(path: Path, _: Geometry) -> Iterator[Row]:
    yield pick(construct.CHECKPOINT.parse(path.read_bytes()), CHECKPOINT)


READERS: dict[str, dict[str, Reader]] = {
    "index_header": {
        "reference": _reference_header,
        "engine": engine("index_headers"),
        "kaitai": _kaitai_header,
        "construct": _construct_header,
    },
    "index_entry": {
        "reference": _reference_entries,
        "engine": engine("index_entries"),
        "kaitai": _kaitai_entries,
        "construct": _construct_entries,
    },
    "queue_unit": {
        "reference": _reference_units,
        "engine": engine("consume_queue"),
        "kaitai": _kaitai_units,
        "construct": _construct_units,
    },
    "ext_unit": {
        "reference": _reference_ext,
        "engine": engine("consume_queue_ext"),
        "kaitai": _kaitai_ext,
        "construct": _construct_ext,
    },
    "log_record": {
        "reference": _reference_log,
        "engine": engine("commit_log"),
        "kaitai": _kaitai_log,
        "construct": _construct_log,
    },
    "checkpoint": {
        "reference": _reference_checkpoint,
        "engine": engine("checkpoint"),
        "kaitai": _kaitai_checkpoint,
        "construct": _construct_checkpoint,
    },
}
"""By the type of the truth's line, then by the reader's name."""
