r"""The properties of a record: text of the form name \1 value \2 name \1 value.

Read beside `org.apache.rocketmq.common.message.MessageDecoder` of 4.9.3.
"""

from collections.abc import Mapping
from typing import Final

from rocket_reference.rules import RULES_4_9_3, Rules

NAME_VALUE_SEPARATOR: Final = "\x01"
PROPERTY_SEPARATOR: Final = "\x02"

KEYS: Final = "KEYS"  # MessageConst.PROPERTY_KEYS
TAGS: Final = "TAGS"  # MessageConst.PROPERTY_TAGS
DELAY: Final = "DELAY"  # MessageConst.PROPERTY_DELAY_TIME_LEVEL
UNIQ_KEY: Final = "UNIQ_KEY"  # MessageConst.PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX


def parse_properties(text: str, rules: Rules = RULES_4_9_3) -> dict[str, str]:
    r"""Names and values of a properties text.

    A pair ends at the next \2, even one inside a value; its name ends at the pair's first \1, so that a
    value may hold a \1 (LOG-PROP-2, LOG-PROP-3). A pair without \1, without a name or without a value is
    dropped; that rule includes the one of 4.9.3 that a pair has at least 3 chars. The last of equal names
    wins (LOG-PROP-4).

    Source: MessageDecoder.string2messageProperties 449-472.
    """
    properties: dict[str, str] = {}
    for pair in text.split(PROPERTY_SEPARATOR):
        name, separator, value = pair.partition(NAME_VALUE_SEPARATOR)
        if rules.one_separator:
            value = value.rstrip(NAME_VALUE_SEPARATOR)  # String.split drops what is empty at the end
            value = "" if NAME_VALUE_SEPARATOR in value else value
        if name and separator and value:
            properties[name] = value
    return properties


def properties_text(properties: Mapping[str, str]) -> str:
    r"""The text of properties in their given order, without a \2 at the end (LOG-PROP-1).

    Source: MessageDecoder.messageProperties2String 411-447, whose order is that of its map.
    """
    return PROPERTY_SEPARATOR.join(
        f"{name}{NAME_VALUE_SEPARATOR}{value}" for name, value in properties.items()
    )
