"""The JSON Schemas of the protocol and of the report, and checks against them."""
# pyright: reportUnusedImport=false

from rocket_conformance.schema.validation import check_message, load_schema, problems
