"""The JSON Schemas of the protocol and of the report, and checks against them."""

from rocket_conformance.schema.validation import SCHEMAS, check_message, load_schema, problems

__all__ = ["SCHEMAS", "check_message", "load_schema", "problems"]
