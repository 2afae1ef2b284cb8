"""The code blocks of SPEC.md as functions."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from rocket_reference import java, key_hash
from rocket_spec.data import find_data

_SPEC = find_data("spec/SPEC.md").read_text("utf-8")
_BLOCK = re.compile(r"^### ([^\n]+)\n(?:(?!^#).)*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def headings() -> list[str]:
    """The headings that have a block."""
    return [match[1] for match in _BLOCK.finditer(_SPEC)]


def code(
    heading: str, *, changes: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Callable[..., Any]]:
    """The functions of the code block under a heading, which may call those in `more`; `changes` replace texts in it."""
    (block,) = (match[2] for match in _BLOCK.finditer(_SPEC) if match[1] == heading)
    for old, new in (changes or {}).items():
        block = block.replace(old, new)
    names: dict[str, Any] = {
        "i64": java.to_i64,
        "rem": java.rem,
        "div": java.div,
        "key_hash": key_hash,
        **more,
    }
    exec(compile(block, f"SPEC.md, {heading}", "exec"), names)
    return names
