"""Writes the annotated hex dumps of SPEC.md again: `python tests/spec/real/make_dumps.py`.

The bytes are those that the real 4.9.3 wrote: the index file is that of the vector IDX-ENT-1/small-file, the queue file that of
`facts.json`. They are between `<!-- dump: NAME -->` and `<!-- end dump -->`.
"""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import rocket_golden
from rocket_golden import zstd
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, QUEUE_UNIT, Layout

from tools.make_tables import rewrite

VECTOR: Final = "IDX-ENT-1/small-file"
QUEUE_FILE: Final = "00000000000000000100"

_BLOCK: Final = re.compile(r"<!-- dump: (?P<name>[^>]+) -->\n.*?<!-- end dump -->", re.DOTALL)


def _rows(data: bytes, at: int, layout: Layout, owner: str, remarks: dict[str, str]) -> Iterator[str]:
    """One line for each field: offset, bytes, name and value."""
    for field in layout.fields:
        assert field.offset is not None
        assert field.size is not None
        start = at + field.offset
        part = data[start : start + field.size]
        value = int.from_bytes(part, "big", signed=True)
        remark = remarks.get(field.name, "")
        line = f"{start:04x}  {part.hex(' '):<23}  {owner:<8} {field.name:<16} {value}{'   ' if remark else ''}{remark}"
        yield line.rstrip()


def index_file() -> str:
    """The index file of the vector."""
    (vector,) = [vector for vector in rocket_golden.vectors() if vector["id"] == VECTOR]
    (file,) = vector["expected"]["files"].values()
    data = zstd.decompress(base64.b64decode(file["zstd_base64"]))
    slots, entries = vector["geometry"]
    lines = list(_rows(data, 0, INDEX_HEADER, "header", {"index_count": "3 entries"}))
    for number in range(slots):
        lines += _rows(data, 40 + 4 * number, INDEX_SLOT, f"slot {number}", {})
    keys = ("never written", "AaTopic#Aa", "AaTopic#BB", "T#d", "free")
    for number in range(entries):
        place = 40 + 4 * slots + INDEX_ENTRY.size * number
        lines += _rows(data, place, INDEX_ENTRY, f"entry {number}", {"key_hash": keys[number]})
    return "\n".join(lines)


def queue_file() -> str:
    """The first file of the queue of `facts.json`."""
    facts = json.loads((Path(__file__).parent / "facts.json").read_text("utf-8"))["pre_blank"]
    data = bytes.fromhex(facts["files"][QUEUE_FILE])
    lines: list[str] = []
    for place in range(0, len(data), QUEUE_UNIT.size):
        number = (int(QUEUE_FILE) + place) // QUEUE_UNIT.size
        blank = {"phy_offset": "pre-blank"} if number < facts["min"] else {}
        lines += _rows(data, place, QUEUE_UNIT, f"unit {number}", blank)
    return "\n".join(lines)


DUMPS: Final = {"index file": index_file, "queue file": queue_file}


def refreshed(text: str) -> str:
    """The document with both dumps generated again."""
    assert sorted(match["name"] for match in _BLOCK.finditer(text)) == sorted(DUMPS)
    return _BLOCK.sub(
        lambda match: (
            f"<!-- dump: {match['name']} -->\n```text\n{DUMPS[match['name']]()}\n```\n<!-- end dump -->"
        ),
        text,
    )


if __name__ == "__main__":
    rewrite(refreshed)
