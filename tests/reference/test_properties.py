r"""LOG-PROP: "=" stands for \1, ";" for \2. The maps are those that the real jar's MessageDecoder gave."""

from __future__ import annotations

import pytest
from rocket_reference import parse_properties, properties_text


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a=b;", {"a": "b"}),  # LOG-PROP-1: a \2 at the end, as before 4.9.1
        ("a=b;c", {"a": "b"}),  # LOG-PROP-2
        ("a=", {}),
        ("=b", {}),
        ("ab", {}),
        (";;a=b", {"a": "b"}),
        ("a=x;y;z=w", {"a": "x", "z": "w"}),  # a \2 inside a value starts the next part
        ("\U0001f600=x", {"\U0001f600": "x"}),
        ("a=b=c", {"a": "b=c"}),  # LOG-PROP-3
        ("=a=b", {}),
        ("a=b;a=c", {"a": "c"}),  # LOG-PROP-4
    ],
)
def test_log_prop_parse(text: str, properties: dict[str, str]) -> None:
    marked = {name: value.replace("=", "\x01") for name, value in properties.items()}
    assert parse_properties(text.replace("=", "\x01").replace(";", "\x02")) == marked


def test_log_prop_1_text() -> None:
    text = properties_text({"KEYS": "k1 k2", "TAGS": "TagA"})
    assert text.encode().hex() == "4b455953016b31206b3202544147530154616741"
    assert properties_text({}) == ""
