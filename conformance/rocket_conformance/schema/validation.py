"""The JSON Schemas of the protocol, the report and the manifest, and checks against them."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, cast

from rocket_conformance.protocol import OPERATIONS, ProtocolError


class _Error(Protocol):
    message: str
    json_path: str


class _Validator(Protocol):
    def iter_errors(self, instance: Any) -> Iterator[_Error]: ...


def load_schema(name: str) -> dict[str, Any]:
    """One of the schemas, draft 2020-12.

    Raises FileNotFoundError: when there is none of that name.
    """
    text = files("rocket_conformance").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def _validator_of(schema: dict[str, Any], definitions: dict[str, Any]) -> _Validator:
    import jsonschema  # noqa: PLC0415 - only where it is asked for

    return cast("_Validator", jsonschema.Draft202012Validator(_inlined(schema, definitions)))


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with its definitions in place: resolving a reference costs more than checking an integer."""
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, Any]", schema)
    if "$ref" in given:
        return _inlined(definitions[given["$ref"].removeprefix("#/$defs/")], definitions)
    return {name: _inlined(value, definitions) for name, value in given.items() if name != "$defs"}


@cache
def _validator(name: str) -> _Validator:
    schema = load_schema(name)
    return _validator_of(schema, schema.get("$defs", {}))


@cache
def _operation_validators() -> dict[str, _Validator]:
    """By name, the validator of an operation: what the schema's if and then choose among."""
    definitions = load_schema("suite_message")["$defs"]
    return {name: _validator_of(definitions[name], definitions) for name in OPERATIONS}


def problems(name: str, value: Any) -> list[str]:
    """The violations of a schema by a value, each with its place; empty if there are none."""
    if name == "suite_message" and isinstance(value, dict):
        message = cast("dict[str, Any]", value)
        ops = message.get("ops")
        if message.get("cmd") == "case" and isinstance(ops, list):
            return _problems_of_case(message, cast("list[object]", ops))
    return [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(value)]


def _problems_of_case(message: dict[str, Any], ops: list[object]) -> list[str]:
    """The same for a case, its operations by the validator of each."""
    validators = _operation_validators()
    strange: list[Any] = []
    found: list[str] = []
    for place, op in enumerate(ops):
        name = cast("dict[str, object]", op).get("op") if isinstance(op, dict) else None
        validator = validators.get(name) if isinstance(name, str) else None
        if validator is None:
            strange.append(op)
        else:
            found += [
                f"$.ops[{place}]{error.json_path[1:]}: {error.message}" for error in validator.iter_errors(op)
            ]
    whole = _validator("suite_message").iter_errors({**message, "ops": strange})
    return [f"{error.json_path}: {error.message}" for error in whole] + found


def check_message(direction: str, message: Any) -> None:
    """Checks a message of `suite` or `adapter`, as `--check-schema` does.

    Raises ProtocolError: with the first thing that the schema finds.
    """
    found = problems(f"{direction}_message", message)
    if found:
        raise ProtocolError(f"message breaks the schema {direction}_message.json: {found[0][:400]}")
