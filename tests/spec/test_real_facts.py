"""What the real 4.9.3 store answered (`real/facts.json`), against the reference, the schemas and the clauses' words."""

import ipaddress
import struct
from pathlib import Path
from typing import Any

import pytest
import rocket_reference as reference
from make_facts import make_facts
from rocket_reference import java
from rocket_spec import construct_schemas as schemas
from rocket_spec.kaitai import Commitlog, Consumequeue, ConsumequeueExt

Facts = dict[str, Any]
REAL = Path(__file__).parent / "real"


def text(units: str | None) -> str | None:
    """A string given as UTF-16 in hexadecimal; it may hold lone surrogates."""
    return None if units is None else bytes.fromhex(units).decode("utf-16-be", "surrogatepass")


def texts(properties: dict[str, str] | None) -> dict[str | None, str | None] | None:
    return None if properties is None else {text(name): text(value) for name, value in properties.items()}


@pytest.mark.java
def test_the_facts_are_fresh(maven: str, tmp_path: Path) -> None:
    make_facts(tmp_path / "facts.json")
    assert (tmp_path / "facts.json").read_bytes() == (REAL / "facts.json").read_bytes()


def test_index_names(facts: Facts) -> None:
    """IDX-SVC-4: 2023-11-14 22:13:20.123 UTC; 2566 is 543 years on, Reiwa 5 began in 2023."""
    names = {(case["locale"], case["zone"]): case["name"] for case in facts["index_names"]}
    plain = "20231114221320123"
    for locale in ("en-US", "de-DE", "zh-CN", "ja-JP"):
        assert names[locale, "UTC"] == plain
    assert names["en-US", "Asia/Kolkata"] == "20231115034320123"  # 5:30 h ahead
    assert names["th-TH", "UTC"] == f"{2023 + 543}{plain[4:]}"
    assert names["ja_JP_JP", "UTC"] == names["ja-JP-u-ca-japanese", "UTC"] == f"0005{plain[4:]}"
    assert names["ar-EG", "UTC"] == plain.translate({ord("0") + digit: 0x660 + digit for digit in range(10)})
    assert names["fa-IR", "UTC"] == plain.translate({ord("0") + digit: 0x6F0 + digit for digit in range(10)})
    assert min(names.values()) == names["ja_JP_JP", "UTC"]  # a load takes it for the oldest


def test_property_strings(facts: Facts) -> None:
    """LOG-PROP-1 to LOG-PROP-4."""
    for case in facts["property_strings"]:
        found = text(case["text"])
        assert found is not None
        assert reference.parse_properties(found) == texts(case["map"]), found
    for case in facts["written_properties"]:
        names, values = case["pairs"][::2], case["pairs"][1::2]
        pairs = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        assert reference.properties_text(pairs).encode() == bytes.fromhex(case["text"])


def test_malformed_utf8(facts: Facts) -> None:
    """UTF8-1 and UTF8-2."""
    for case in facts["decoded_utf8"]:
        assert java.decode_utf8(bytes.fromhex(case["bytes"])) == text(case["utf16"]), case["bytes"]
    for case in facts["encoded_utf8"]:
        assert java.encode_utf8(text(case["utf16"]) or "") == bytes.fromhex(case["bytes"])


def test_records(facts: Facts) -> None:
    """LOG-REC-2, LOG-REC-5, LOG-PROP-5: records as the real encoder wrote them."""
    for case in facts["records"]:
        data = bytes.fromhex(case["bytes"])
        body = bytes.fromhex(case["body"] or "")
        expected = {
            "topic": java.encode_utf8(text(case["topic"]) or ""),
            "body": body,
            "properties": java.encode_utf8(text(case["properties"]) or ""),
            **{
                name: int(case[name])
                for name in ("queue_id", "sys_flag", "flag", "born_timestamp", "store_timestamp", "reconsume_times",
                             "prepared_transaction_offset")
            },
        }  # fmt: skip
        hosts = {
            side: {"address": ipaddress.ip_address(case[f"{side}_host"]).packed, "port": case[f"{side}_port"]}
            for side in ("born", "store")
        }
        parsed = schemas.RECORD.parse(data)
        assert {name: parsed[name] for name in expected} == expected
        assert {side: parsed[f"{side}_host"] for side in hosts} == hosts
        assert schemas.RECORD.build(parsed) == data
        without_lengths = {**expected, "born_host": hosts["born"], "store_host": hosts["store"]}
        assert schemas.RECORD.build({**without_lengths, "queue_offset": 0, "phy_offset": 0}) == data
        record = Commitlog.from_bytes(data + bytes(8)).frames[0].record
        assert {name: getattr(record, name) for name in expected} == expected
        assert (record.is_born_host_ipv6, record.is_store_host_ipv6) == (
            len(hosts["born"]["address"]) == 16, len(hosts["store"]["address"]) == 16,
        )  # fmt: skip
        row = reference.record(data)
        assert (row.size, row.body, row.sys_flag) == (len(data), body, case["sys_flag"])
    assert {case["sys_flag"] for case in facts["records"]} >= {0, 16, 32, 48 | 1 | 2 | 8, 4, 12}
    assert facts["longest_properties"] == {"32767": 91 + 1 + 32767, "32768": None}


def test_appends(facts: Facts) -> None:
    """LOG-REC-6, LOG-REC-7, LOG-BLANK-1: 92-byte messages into a region filled with EE, at physical offset 5120."""
    for case in facts["appends"]:
        data = bytes.fromhex(case["bytes"])
        position, queue_offset = 0, 0
        for step in case["steps"]:
            counts = step["sys_flag"] in (0, 8)
            fits = position + 92 + 8 <= case["size"]
            assert step["status"] == ("PUT_OK" if fits else "END_OF_FILE")
            assert step["wrote_offset"] == 5120 + position
            if not fits:
                left = case["size"] - position
                assert step["wrote_bytes"] == left
                assert data[position:] == struct.pack(">iI", left, 0xCBD43194) + b"\xee" * (left - 8)
                break
            record = schemas.RECORD.parse(data[position : position + 92])
            assert record["phy_offset"] == 5120 + position
            assert record["queue_offset"] == step["logics_offset"] == (queue_offset if counts else 0)
            position += 92
            queue_offset += counts
        frames = Commitlog.from_bytes(data).frames
        assert [frame.is_blank for frame in frames] == [False] * (position // 92) + [True]
        assert schemas.COMMIT_LOG.build(schemas.COMMIT_LOG.parse(data)) == data
    assert [len(case["steps"]) for case in facts["appends"]] == [5, 4, 4, 2, 1]


def test_dispatch_requests(facts: Facts) -> None:
    """LOG-DSP-2 to LOG-DSP-6, LOG-REC-3, LOG-REC-4, LOG-BLANK-2, CQ-TAGS-2."""
    found = {case["input"]: case for case in facts["dispatch_requests"]}
    assert len(found) == len(facts["dispatch_requests"])
    for case in found.values():
        request = reference.dispatch_request(bytes.fromhex(case["bytes"]), check_crc=case["check_crc"])
        expected = {
            **{
                name: int(case[name])
                for name in ("msg_size", "queue_id", "commit_log_offset", "tags_code", "store_timestamp",
                             "consume_queue_offset", "sys_flag", "prepared_transaction_offset")
            },
            **{name: text(case[name]) for name in ("topic", "keys", "uniq_key")},
            "success": case["success"],
            "properties": texts(case["properties"]),
        }  # fmt: skip
        assert {name: getattr(request, name) for name in expected} == expected, case["input"]


def test_pre_blank_units(facts: Facts) -> None:
    """CQ-UNIT-2, CQ-FILE-1, CQ-FILE-2: a queue of 81-byte files that begins at logical offset 7."""
    case = facts["pre_blank"]
    assert (case["file_size"], case["min"], case["max"]) == (100, 7, 11)
    assert list(case["files"]) == [f"{100:020}", f"{200:020}"]
    pre_blank = bytes(8) + b"\x7f\xff\xff\xff" + bytes(8)
    units = [struct.pack(">qiq", 1000 + 100 * i, 100, -1 - i) for i in range(4)]
    assert bytes.fromhex("".join(case["files"].values())) == pre_blank * 2 + b"".join(units) + bytes(80)
    file = Consumequeue.from_bytes(bytes.fromhex(case["files"][f"{100:020}"]))
    assert [unit.is_pre_blank for unit in file.units] == [True, True, False, False, False]


def test_ext_units(facts: Facts) -> None:
    """CQ-EXT-1 to CQ-EXT-5, CQ-TAGS-3: bit maps of several lengths in ext files of 70 bytes."""
    case = facts["ext"]
    assert case["is_address"] == {str(-(1 << 31)): False, str(-(1 << 31) - 1): True, str(-(1 << 63)): True}
    assert case["bit_map_lengths"] == [0, 8, 0, 26, 27, 46]
    units = [
        struct.pack(">hqqh", 20 + length, 2598919 + i, 1700000000123, length) + bytes([0xA0 + i]) * length
        for i, length in enumerate(case["bit_map_lengths"])
    ]
    mark = b"\xff\xff"
    files = [
        units[0] + units[1] + mark + bytes(20),  # 48 used: 70 - 48 - 4 = 18 are too few for 20
        units[2] + units[3] + mark + bytes(2),  # 66 used: nothing fits behind
        units[4] + mark + bytes(21),
        units[5] + bytes(4),  # 66 used: the mark comes with the next unit
    ]
    assert [bytes.fromhex(data) for data in case["ext_files"].values()] == files
    assert list(case["ext_files"]) == [f"{70 * i:020}" for i in range(4)]
    addresses = [offset - (1 << 63) for offset in (0, 20, 70, 90, 140, 210)]
    queue = bytes.fromhex("".join(case["queue_files"].values()))
    assert [unit.tags_code for unit in Consumequeue.from_bytes(queue).units[:6]] == addresses
    found = [pair for i, data in enumerate(files) for pair in reference.ext_units(data, 70 * i)]
    assert [address for address, _ in found] == addresses
    for data in files:
        assert schemas.EXT_FILE.build(schemas.EXT_FILE.parse(data)) == data
        assert ConsumequeueExt.from_bytes(data).num_units == sum(unit in data for unit in units)


def test_batch_properties(facts: Facts) -> None:
    r"""LOG-PROP-6: the client's bytes as they are, one `\2` where both sides have text and it does not end in one."""
    assert len(facts["batch_properties"]) == 12
    for case in facts["batch_properties"]:
        client = (text(case["client"]) or "").encode()
        own = b"CLUSTER\x01c" if case["own"] else b""
        between = b"\x02" if client and own and not client.endswith(b"\x02") else b""
        stored = bytes.fromhex(case["stored"])
        assert stored == client + between + own
        assert case["length"] == len(stored)


def test_lengths_that_wrap(facts: Facts) -> None:
    """LOG-PROP-7, LOG-REC-9: with 10 bytes of the batch's own, and a byte or two for the length."""
    assert all(case["record"] == case["total_size"] for case in facts["wrapped_lengths"])
    topics = [case for case in facts["wrapped_lengths"] if case["what"] == "topic"]
    properties = [case for case in facts["wrapped_lengths"] if case["what"] != "topic"]
    own = len(b"\x02CLUSTER\x01c")
    assert [case["length"] + own for case in properties] == [32760, 32768, 32777]
    assert [case["stored"] for case in properties] == [32760, 32768 - 65536, 32777 - 65536]
    assert [case["success"] for case in properties] == [True, False, False]
    assert [case["msg_size"] for case in properties] == [case["total_size"] for case in properties]
    assert [case["length"] for case in topics] == [127, 128, 200, 300]
    assert [case["stored"] for case in topics] == [127, 128 - 256, 200 - 256, 300 - 256]
    assert [case["msg_size"] for case in topics] == [topics[0]["total_size"], -1, -1, -1]
