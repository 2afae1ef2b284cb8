"""The .ksy files: documented throughout, named after the Java, equal to the layout tables; their readers fresh."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rocket_spec import layout
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data
from rocket_spec.later_layouts import BATCH_UNIT, LATER_CHECKPOINT, TIMER_SLOT, TIMER_UNIT

from tools.make_readers import READERS, make_readers

KSY = sorted(path.stem for path in find_data("spec/SPEC.md").parent.glob("*.ksy"))
Tree = dict[str, Any]
Read = Callable[[str], Tree]
_LINES = r"https://github\.com/apache/rocketmq/blob/rocketmq-all-[45]\.\d\.\d/[\w/]+\.java#L(\d+)(?:-L(\d+))?"
"""What a member refers to: the first place in the Java source that its clause names."""

TYPES = {"s1": "i8", "s2": "i16", "s4": "i32", "s8": "i64"}


def members(tree: Tree, path: str) -> Iterator[tuple[str, Tree]]:
    """Every type, param, field, instance and enum value of a description, with its path."""
    yield path, tree
    for kind in ("params", "seq"):
        for member in tree.get(kind, []):
            yield f"{path}/{member['id']}", member
    for name, member in tree.get("instances", {}).items():
        yield f"{path}/{name}", member
    for values in tree.get("enums", {}).values():
        for value in values.values():
            yield f"{path}/{value['id']}", value
    for name, inner in tree.get("types", {}).items():
        yield from members(inner, f"{path}/{name}")


@pytest.mark.parametrize("name", KSY)
def test_every_member_is_documented_and_refers_to_a_clause(ksy: Read, name: str) -> None:
    known = clauses()
    for path, member in members(ksy(name), name):
        assert member.get("doc"), path
        match = re.fullmatch(r"(https://\S+) ([A-Z0-9-]+)", member.get("doc-ref", ""))
        assert match is not None, path
        assert match[2] in known, path
        lines = re.fullmatch(_LINES, match[1])
        if lines is None:
            assert match[1] == "https://github.com/openmessaging/dledger", path
        else:
            cited = {
                (str(first), str(last)) for source in known[match[2]].sources for first, last in source.lines
            }
            assert (lines[1], lines[2] or lines[1]) in cited, path


@pytest.mark.parametrize(
    ("name", "path", "fields"),
    [
        ("indexfile", ("types", "header"), layout.INDEX_HEADER.fields),
        ("indexfile", ("types", "entry"), layout.INDEX_ENTRY.fields),
        ("consumequeue", ("types", "unit"), layout.QUEUE_UNIT.fields),
        ("consumequeue_ext", ("types", "unit"), layout.EXT_UNIT.fields),
        ("commitlog", ("types", "frame"), layout.RECORD.fields[:2]),
        ("commitlog", ("types", "record"), layout.RECORD.fields[2:]),
        ("dledger", ("types", "entry"), layout.ENTRY.fields),
        ("dledger_index", ("types", "unit"), layout.ENTRY_INDEX_UNIT.fields),
        ("checkpoint", (), LATER_CHECKPOINT.fields),
        ("batchconsumequeue", ("types", "unit"), BATCH_UNIT.fields),
        ("timerwheel", ("types", "slot"), TIMER_SLOT.fields),
        ("timerlog", ("types", "frame"), TIMER_UNIT.fields[:3]),
        ("timerlog", ("types", "unit"), TIMER_UNIT.fields[3:]),
    ],
)
def test_fields_are_those_of_the_layout(
    ksy: Read, name: str, path: tuple[str, ...], fields: tuple[layout.Field, ...]
) -> None:
    tree = ksy(name)
    for part in path:
        tree = tree[part]
    laid_out = [member for member in tree["seq"] if "-orig-id" in member and member.get("if") != "is_v2"]
    assert [member["-orig-id"] for member in laid_out] == [field.java for field in fields]
    assert [TYPES.get(member.get("type", ""), "bytes") for member in laid_out] == [
        field.type for field in fields
    ]


@pytest.mark.node
def test_the_committed_readers_are_fresh(node: str, tmp_path: Path) -> None:
    make_readers(tmp_path / "made")
    made = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    assert made == {path.name: path.read_bytes() for path in READERS.iterdir() if path.is_file()}
