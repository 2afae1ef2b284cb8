"""Adapter protocol 1: the operations, the values, the messages of both directions."""
# pyright: reportUnusedImport=false

from rocket_conformance.protocol._messages import (
    BYE,
    MAX_LINE,
    PROTOCOL,
    Answer,
    Hello,
    ProtocolError,
    case_message,
    check_operation,
    decode_line,
    encode_line,
    hello_message,
    parse_answer,
    parse_hello,
    suite_version,
)
from rocket_conformance.protocol._operations import (
    FAMILIES,
    FEATURES,
    LIMITS,
    OBJECTS,
    OPERATIONS,
    Op,
    Operation,
    Result,
    check_path,
    from_i64,
    has_lone_surrogate,
    key_fields,
    key_of,
    key_or_none,
    to_i64,
)
