"""Values, messages and their checks; the JSON Schemas say what the code does."""

from pathlib import Path
from typing import Any

import pytest
from rocket_conformance.protocol import (
    OBJECTS,
    OPERATIONS,
    ProtocolError,
    decode_line,
    key_fields,
    key_of,
    parse_answer,
    parse_hello,
    to_i64,
)
from rocket_conformance.schema import load_schema, problems

HELLO: dict[str, Any] = {"protocol": 1, "name": "x", "ops": ["key.hash"]}


@pytest.mark.parametrize("text", [7, None, "", "+5", "007", "-0", " 1", "1.0", "0x1", str(1 << 63), "٢"])
def test_anything_else_is_no_64_bit_integer(text: object) -> None:
    with pytest.raises(ValueError, match=r"decimal|64 bits"):
        to_i64(text)


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        ("T#k", {"key": "T#k"}),
        ("", {"key": ""}),
        ("T#\U0001f680", {"key": "T#\U0001f680"}),
        ("a\ud800", {"key_utf16": "0061d800"}),
        ("\udc00", {"key_utf16": "dc00"}),
    ],
)
def test_a_key_with_a_lone_surrogate_travels_in_hex(key: str, fields: dict[str, str]) -> None:
    assert key_fields(key) == fields
    assert key_of({"op": "key.hash", **fields}) == key


@pytest.mark.parametrize("line", [b"", b"hello", b"[]", b"7", b'{"a":', b'{"a":"\xff"}', b"[" * 100_000])
def test_a_line_that_is_no_object_is_a_protocol_error(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_line(line)


@pytest.mark.parametrize(
    "change",
    [
        {"ops": ["x"] * 300_000},
        {"features": ["x"] * 300_000},
        {"geometry": [[7, 12]] * 300_000},
        {"protocol": "x" * 1_000_000},
        {"max_in_flight": "\x1b" * 1_000_000},
        {"geometry": "\x1b" * 1_000_000},
        {"protocol": 2},
        {"protocol": None},
        {"name": ""},
        {"name": 7},
        {"ops": "key.hash"},
        {"ops": [1]},
        {"features": "x"},
        {"max_in_flight": 0},
        {"max_in_flight": "1"},
        {"geometry": [7, 12]},
        {"geometry": [[7]]},
        {"geometry": "all"},
    ],
)
def test_a_hello_that_breaks_the_protocol(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_hello({**HELLO, **change})
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_schema_of_the_suite_names_each_operation_with_its_fields() -> None:
    definitions = load_schema("suite_message")["$defs"]
    assert definitions["op"]["properties"]["op"]["enum"] == list(OPERATIONS)
    assert load_schema("case")["properties"]["ops"]["items"]["properties"]["op"]["enum"] == list(OPERATIONS)
    chosen = {item["if"]["properties"]["op"]["const"]: item["then"] for item in definitions["op"]["allOf"]}
    assert chosen == {name: {"$ref": f"#/$defs/{name}"} for name in OPERATIONS}
    for name, operation in OPERATIONS.items():
        keys = {field for field, kind in operation.fields.items() if kind in {"key", "key?"}}
        schema = definitions[name]
        assert schema["properties"]["op"] == {"const": name}
        assert set(schema["properties"]) == {"op", *operation.fields, *operation.optional} | {
            f"{key}_utf16" for key in keys
        }
        assert set(schema["required"]) == {"op", *operation.fields} - keys


def test_schema_of_adapters_names_each_result_field() -> None:
    properties = load_schema("adapter_message")["$defs"]["result"]["properties"]
    fields = {field for operation in OPERATIONS.values() for field in operation.result}
    assert set(properties) == fields | {"rejected", "errored", "unsupported", "skipped"}
    definitions = load_schema("adapter_message")["$defs"]
    for name, kind in (("unit", "unit?"), ("request", "request[]")):
        assert (
            set(definitions[name]["properties"]) == set(definitions[name]["required"]) == set(OBJECTS[kind])
        )


USUAL = {"i32": 0, "i64": "0", "string": "T", "string?": None, "bool": False}
REQUEST: dict[str, Any] = {name: USUAL[kind] for name, kind in OBJECTS["request[]"].items()}


@pytest.mark.parametrize(
    ("op", "result", "text"),
    [
        ("index.select", {"offsets": [5]}, r"result 0 \(index\.select\): offsets: 5 is not a string"),
        ("queue.get", {"unit": []}, "unit: .* is not an object"),
        ("queue.get", {"unit": {"offset": "1", "size": 2}}, "unit: no tags_code"),
        ("queue.get", {"unit": {"offset": 1, "size": 2, "tags_code": "3"}}, "offset: 1 is not a string"),
        ("log.dispatch", {"requests": None}, "requests: None is not a list"),
        ("log.dispatch", {"requests": [None]}, "requests: None is not an object"),
        ("log.dispatch", {"requests": [REQUEST | {"keys": 7}]}, "requests: keys: 7 is not a text"),
    ],
)
def test_objects_of_the_wrong_form_are_named(op: str, result: dict[str, Any], text: str) -> None:
    with pytest.raises(ProtocolError, match=text):
        parse_answer({"results": [result]}, [{"op": op}])


@pytest.mark.parametrize(
    "op",
    [
        {"op": "key.hash", "key": "a"},
        {"op": "key.hash", "key": "a", "key_utf16": "0061"},
        {"op": "key.hash"},
        {"op": "index.select", "key": "a", "max_num": "1", "begin": "0", "end": "0"},
        {"op": "index.put", "key": "a", "phy_offset": 0, "store_timestamp": "0"},
        {"op": "queue.get", "cq_offset": "007"},
        {"op": "queue.get", "cq_offset": "0", "more": 1},
        {"op": "service.build"},
        {"op": "index.explode"},
        {"op": 7},
        {"op": ["key.hash"]},
        {},
        [],
        None,
    ],
)
def test_an_operation_is_judged_as_the_whole_schema_does(op: Any) -> None:
    """Each is checked by a validator of its own, which must say what the schema's if and then say."""
    import jsonschema

    message: dict[str, Any] = {"cmd": "case", "id": "1", "dir": "x", "ops": [{"op": "index.full"}, op]}
    whole = jsonschema.Draft202012Validator(load_schema("suite_message"))
    assert bool(problems("suite_message", message)) == (not whole.is_valid(message))
    assert whole.is_valid({**message, "ops": message["ops"][:1]})


def test_the_protocol_page_names_each_operation_with_its_fields() -> None:
    page = (Path(__file__).parents[2] / "conformance" / "PROTOCOL.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for name, operation in OPERATIONS.items():
        _, _, fields, result, _ = rows[name].split("|")
        for field in (*operation.fields, *operation.optional):
            assert f"`{field}`" in fields, f"{name}: {field}"
        for field in operation.result:
            assert f"`{field}`" in result, f"{name}: {field}"
