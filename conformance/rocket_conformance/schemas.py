"""The JSON Schemas of the protocol and of the report, and checks against them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from rocket_conformance.protocol import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SCHEMAS", "check_message", "load_schema", "problems"]

SCHEMAS: Final = ("suite_message", "adapter_message", "report_line", "case")
"""Messages of the suite, messages of the adapter, lines of report.jsonl, case and replay files."""


class _Error(Protocol):
    message: str
    json_path: str


class _Validator(Protocol):
    def iter_errors(self, instance: Any) -> Iterator[_Error]: ...


def load_schema(name: str) -> dict[str, Any]:
    """One of the schemas, draft 2020-12.

    Raises:
        FileNotFoundError: when there is none of that name.
    """
    text = files("rocket_conformance").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


@cache
def _validator(name: str) -> _Validator:
    import jsonschema  # noqa: PLC0415 - only where it is asked for

    return cast("_Validator", jsonschema.Draft202012Validator(load_schema(name)))


def problems(name: str, value: Any) -> list[str]:
    """What a schema finds wrong with a value, each with its place; empty when nothing."""
    return [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(value)]


def check_message(direction: str, message: Any) -> None:
    """Checks a message of `suite` or `adapter`, as `--check-schema` does.

    Raises:
        ProtocolError: with the first thing that the schema finds.
    """
    found = problems(f"{direction}_message", message)
    if found:
        raise ProtocolError(f"message breaks the schema {direction}_message.json: {found[0][:400]}")
