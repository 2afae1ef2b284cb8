"""The texts of two different hashes: what had to be hashed, and what an implementation seems to have hashed."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rocket_reference import java, key_hash, tags_code
from rocket_spec.printable import printable

from rocket_conformance.comparison.compare import Difference
from rocket_conformance.protocol import Op, key_of, key_or_none

_HASH: Final = re.compile(r"hash|entry\[\d+\]\.key_hash|tags_code")
_LONGEST: Final = 80


def hashed_texts(difference: Difference, ops: Sequence[Op]) -> dict[str, str]:
    """The texts of a differing key hash or tags code, in words; a side whose text is unknown is left out.

    Args:
        difference: any difference of a case.
        ops: the operations of the case, whose texts are tried whole, in parts, and hashed in the usual wrong ways.

    Returns:
        `expected` and `actual`, such as `"T#k"` and `the UTF-8 bytes of "T#k"`; empty for a field that is no hash.
    """
    if not _HASH.fullmatch(difference.field):
        return {}
    asked = [ops[difference.op]] if difference.op is not None else list(ops)
    right, other = _texts(asked)
    is_tag = difference.field == "tags_code"
    hashed = tags_code if is_tag else key_hash
    found: dict[str, str] = {}
    for text in right:
        if str(hashed(text)) == str(difference.expected):
            found["expected"] = _quoted(text)
            break
    for words, code in _readings([*right, *other], signed=is_tag):
        if str(code) == str(difference.actual):
            found["actual"] = words
            break
    return found


def _texts(ops: Sequence[Op]) -> tuple[list[str], list[str]]:
    """Texts that the operations have hashed, and their parts and neighbours, which they have not."""
    right: list[str] = []
    other: list[str] = []
    for op in ops:
        if op["op"] == "service.build":
            topic, whole, unique = op["topic"], key_or_none(op, "keys") or "", key_or_none(op, "uniq_key")
            keys = [*([] if unique is None else [unique]), *filter(None, java.split_one_space(whole))]
            right += [f"{topic}#{key}" for key in keys]
            parts = [*keys, whole, *re.split(r"[,;\s]+", whole)]
            other += [*parts, *(f"{topic}#{part}" for part in parts), *(topic + part for part in parts)]
        elif op["op"] in {"key.hash", "index.put"}:
            right.append(key := key_of(op))
            other += [key.partition("#")[2], key.partition("#")[0], key.replace("#", "", 1)]
        elif op["op"] == "tags.code":
            right.append(tags := key_or_none(op, "tags") or "")
            other += [part.strip() for part in tags.split("||")]
    other += [change(text) for text in right for change in (str.strip, str.lower, str.upper)]
    return list(dict.fromkeys(right)), list(dict.fromkeys(other))


def _readings(texts: Sequence[str], *, signed: bool) -> Iterator[tuple[str, int]]:
    """Every text under each way of hashing it, the right one first, in words and as a number."""
    ways: tuple[tuple[str, Callable[[str], Sequence[int]]], ...] = (
        ("", java.utf16_units),
        ("the UTF-8 bytes of ", lambda text: text.encode("utf-8", "surrogatepass")),
        ("the code points of ", lambda text: [ord(char) for char in text]),
    )
    for words, parts in ways:
        for text in texts:
            code = 0
            for part in parts(text):
                code = java.to_i32(31 * code + part)
            shown = words + _quoted(text)
            if signed:
                yield shown, code
            yield f"the absolute value for {shown}" if signed else shown, max(0, java.abs_i32(code))
            if not signed:
                yield f"{shown} without the absolute value", code
            yield f"{shown} as an unsigned number", code & 0xFFFFFFFF


def _quoted(text: str) -> str:
    return printable(json.dumps(text, ensure_ascii=False), limit=_LONGEST)
