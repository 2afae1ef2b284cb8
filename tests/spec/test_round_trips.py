"""Whatever bytes a Construct schema can read it writes again, and the Kaitai reader sees the same values."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rocket_spec import construct_schemas as schemas
from rocket_spec.kaitai import Commitlog, Consumequeue, ConsumequeueExt, Indexfile, stream
from rocket_spec.layout import BLANK_MAGIC, Geometry

I32 = st.integers(-(1 << 31), (1 << 31) - 1)
I64 = st.integers(-(1 << 63), (1 << 63) - 1)
LENGTH = st.integers(0, (1 << 31) - 1)
OFFSET = st.integers(0, (1 << 63) - 1)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    sys_flag = draw(st.integers(0, 63))
    return {
        "queue_id": draw(I32),
        "flag": draw(I32),
        "queue_offset": draw(OFFSET),
        "phy_offset": draw(OFFSET),
        "sys_flag": sys_flag,
        "born_timestamp": draw(I64),
        "born_host": _host(draw, wide=bool(sys_flag & 16)),
        "store_timestamp": draw(I64),
        "store_host": _host(draw, wide=bool(sys_flag & 32)),
        "reconsume_times": draw(I32),
        "prepared_transaction_offset": draw(I64),
        "body": draw(st.binary(max_size=40)),
        "topic": draw(st.binary(max_size=127)),
        "properties": draw(st.binary(max_size=60)),
    }


def _host(draw: st.DrawFn, *, wide: bool) -> dict[str, Any]:
    length = 16 if wide else 4
    return {
        "address": draw(st.binary(min_size=length, max_size=length)),
        "port": draw(st.integers(0, 65535)),
    }


@st.composite
def index_files(draw: st.DrawFn) -> tuple[Geometry, dict[str, Any]]:
    geometry = Geometry(draw(st.integers(0, 5)), draw(st.integers(2, 6)))
    count = draw(st.integers(0, geometry.index_num))
    number = st.integers(0, geometry.index_num - 1)
    entry = st.fixed_dictionaries(
        {"key_hash": LENGTH, "phy_offset": I64, "time_diff": LENGTH, "prev_entry": number}
    )
    zero = {"key_hash": 0, "phy_offset": 0, "time_diff": 0, "prev_entry": 0}
    return geometry, {
        "header": {
            **{
                name: draw(I64)
                for name in ("begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset")
            },
            "hash_slot_count": draw(LENGTH),
            "index_count": count,
        },
        "slots": draw(st.lists(number, min_size=geometry.hash_slot_num, max_size=geometry.hash_slot_num)),
        "entries": [zero] + [draw(entry) for _ in range(geometry.index_num - 1)],
        "tail": draw(st.binary(max_size=9)),
    }


@given(index_files())
@settings(max_examples=60)
def test_index_file(made: tuple[Geometry, dict[str, Any]]) -> None:
    geometry, value = made
    schema = schemas.index_file(geometry)
    data = schema.build(value)
    assert len(data) == geometry.file_size + len(value["tail"])
    assert schema.parse(data) == value
    file = Indexfile.Table(*geometry, stream(data))
    assert {name: getattr(file.header, name) for name in value["header"]} == value["header"]
    assert file.slots == value["slots"]
    used = value["entries"][1 : max(1, value["header"]["index_count"])]
    assert [{name: getattr(entry, name) for name in used[0]} for entry in file.entries] == used


@given(st.lists(st.fixed_dictionaries({"phy_offset": OFFSET, "size": LENGTH, "tags_code": I64}), max_size=5))
@settings(max_examples=40)
def test_queue_file(units: list[dict[str, int]]) -> None:
    data = schemas.QUEUE_FILE.build(units)
    assert schemas.QUEUE_FILE.parse(data) == units
    read = Consumequeue.from_bytes(data).units
    assert [
        {"phy_offset": u.phy_offset, "size": u.len_record, "tags_code": u.tags_code} for u in read
    ] == units


@given(
    st.lists(
        st.fixed_dictionaries({"tags_code": I64, "store_timestamp": I64, "bit_map": st.binary(max_size=30)}),
        max_size=4,
    ),
    st.sampled_from((-1, 0)),
    st.binary(max_size=20),
)
@settings(max_examples=40)
def test_ext_file(units: list[dict[str, Any]], end: int, tail: bytes) -> None:
    data = schemas.EXT_FILE.build({"units": units, "end": end, "tail": tail})
    parsed = schemas.EXT_FILE.parse(data)
    assert schemas.EXT_FILE.build(parsed) == data
    assert [
        {name: unit[name] for name in made} for unit, made in zip(parsed["units"], units, strict=True)
    ] == units
    read = ConsumequeueExt.from_bytes(data)
    assert read.num_units == len(units)
    assert [unit.bit_map for unit in read.units[:-1]] == [unit["bit_map"] for unit in units]


@given(st.lists(records(), max_size=4), st.booleans(), st.binary(max_size=30))
@settings(max_examples=80)
def test_commit_log(made: list[dict[str, Any]], full: bool, tail: bytes) -> None:  # noqa: FBT001
    blank = {"total_size": 8 + len(tail), "magic": BLANK_MAGIC} if full else None
    tail = tail if full else bytes(8) + tail
    data = schemas.COMMIT_LOG.build({"records": made, "blank": blank, "tail": tail})
    parsed = schemas.COMMIT_LOG.parse(data)
    assert schemas.COMMIT_LOG.build(parsed) == data
    assert parsed["blank"] == blank
    assert parsed["tail"] == tail
    assert [
        {name: row[name] for name in fields} for row, fields in zip(parsed["records"], made, strict=True)
    ] == made
    frames = Commitlog.from_bytes(data).frames
    assert [frame.is_record for frame in frames] == [True] * len(made) + [False]
    assert [frame.len_total for frame in frames[:-1]] == [row["total_size"] for row in parsed["records"]]
    assert [frame.record.body for frame in frames[:-1]] == [row["body"] for row in made]
    assert frames[-1].is_blank == full
