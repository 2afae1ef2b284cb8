"""Adapter protocol 1: the operations, the values, the messages of both directions."""
# pyright: reportUnusedImport=false

from rocket_conformance.protocol._features import FEATURES, LIMITS
from rocket_conformance.protocol._messages import (
    BYE,
    MAX_LINE,
    PROTOCOL,
    Answer,
    Hello,
    ProtocolError,
    case_message,
    decode_line,
    encode_line,
    hello_message,
    parse_answer,
    parse_hello,
    suite_version,
)
from rocket_conformance.protocol._operations import FAMILIES, OBJECTS, OPERATIONS, Operation
from rocket_conformance.protocol._paths import check_path
from rocket_conformance.protocol._requests import check_operation
from rocket_conformance.protocol._values import (
    Op,
    Result,
    from_i64,
    has_lone_surrogate,
    key_fields,
    key_of,
    key_or_none,
    to_i64,
)
