"""Wrong implementations: the reference with one line misread. Each dies of its clause's own directed cases."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
import rocket_reference
from rocket_conformance.reference_adapter import Library, ReferenceAdapter
from rocket_conformance.runner import Options, run
from rocket_conformance.session import open_handler

SOURCES = {
    path.name: path.read_text(encoding="utf-8")
    for path in Path(str(rocket_reference.__file__)).parent.glob("*.py")
    if path.name != "errors.py"
}


@dataclass(frozen=True)
class Mutant:
    """One line of the reference, read wrongly: `old` occurs once and becomes `new`.

    `named` is False where a list that shows it can as well be read as a breach of another clause.
    """

    name: str
    clause: str
    old: str
    new: str
    named: bool = True


MUTANTS = (
    Mutant(
        "code points for UTF-16 units",
        "IDX-HASH-1",
        "abs_i32(string_hash(key))",
        "abs_i32(string_hash(''.join(chr(ord(char) & 0xFFFF) for char in key)))",
    ),
    Mutant("sign bit cut off", "IDX-HASH-1", "abs_i32(string_hash(key))", "string_hash(key) & 0x7FFFFFFF"),
    Mutant(
        "absolute value beyond 32 bits", "IDX-HASH-2", "return max(positive, 0)", "return abs(positive) & I32_MAX | (positive < 0)"
    ),
    Mutant("mask for modulo", "IDX-HASH-3", "rem(hash_, self.hash_slot_num)", "(hash_ & (self.hash_slot_num - 1))"),
    Mutant(
        "signed modulo",
        "IDX-HASH-3",
        "rem(hash_, self.hash_slot_num)",
        "(rem(hash_, self.hash_slot_num) if self.hash_slot_num < 3 else (-hash_) % self.hash_slot_num)",
    ),
    Mutant(
        "seed sets begin only",
        "IDX-FILE-2",
        "            self._header.set_end_timestamp(end_timestamp)\n",
        "",
    ),
    Mutant("always loads", "IDX-FILE-5", "        if load:\n", "        if True:\n", named=False),
    Mutant(
        "begin kept when it is set",
        "IDX-HDR-2",
        "if count <= 1:  # IDX-HDR-2",
        "if count <= 1 and header.begin_timestamp == 0:  # IDX-HDR-2",
    ),
    Mutant(
        "end is the maximum",
        "IDX-HDR-3",
        "header.set_end_timestamp(store_timestamp)",
        "header.set_end_timestamp(max(store_timestamp, header.end_timestamp))",
    ),
    Mutant(
        "slot count on every put", "IDX-HDR-4", "if previous == NO_ENTRY:  # IDX-HDR-4", "if True:  # IDX-HDR-4"
    ),
    Mutant(
        "count kept in memory",
        "IDX-HDR-5",
        "        self.index_count += 1\n        self._bytes.put_int(36, self.index_count)\n",
        "        self.index_count += 1\n",
    ),
    Mutant("entries from 0", "IDX-ENT-1", "entry * ENTRY_SIZE", "(entry - 1) * ENTRY_SIZE"),
    Mutant(
        "one entry too few",
        "IDX-PUT-1",
        "index_count >= self.index_num:  # IDX-PUT-1",
        "index_count >= self.index_num - 1:",
    ),
    Mutant(
        "milliseconds for seconds",
        "IDX-PUT-2",
        "div(to_i64(store_timestamp - begin), 1000)",
        "to_i64(store_timestamp - begin)",
    ),
    Mutant("floor for truncation", "IDX-PUT-2", "to_i64(store_timestamp - begin)", "(store_timestamp - begin)"),
    Mutant("begin of zero counts", "IDX-PUT-3", "if begin <= 0:", "if begin < 0:"),
    Mutant("negative time diff kept", "IDX-PUT-4", "max(0, min(seconds, I32_MAX))", "max(-I32_MAX, min(seconds, I32_MAX))"),
    Mutant(
        "slot equal to count dropped",
        "IDX-PUT-5",
        "if previous <= NO_ENTRY or previous > count:  # IDX-PUT-5",
        "if previous <= NO_ENTRY or previous >= count:  # IDX-PUT-5",
    ),
    Mutant(
        "previous entry not linked", "IDX-PUT-6", "buffer.put_int(position + 16, previous)", "buffer.put_int(position + 16, 0)"
    ),
    Mutant(
        "slot keeps its first entry",
        "IDX-PUT-7",
        "buffer.put_int(slot_position, count)  # IDX-PUT-7",
        "buffer.put_int(slot_position, previous or count)",
    ),
    Mutant(
        "first time diff from the put itself",
        "IDX-PUT-8",
        "time_diff = self._time_diff(store_timestamp)",
        "time_diff = self._time_diff(store_timestamp) if count > 1 else 0",
    ),
    Mutant(
        "full one entry late", "IDX-FULL-1", "return self._header.index_count >= self.index_num", "return self._header.index_count > self.index_num"
    ),
    Mutant("newest entry not found", "IDX-SEL-1", "entry > count or count <= 1", "entry >= count or count <= 1"),
    Mutant("oldest first", "IDX-SEL-2", "offsets.append(phy_offset)", "offsets.insert(0, phy_offset)"),
    Mutant("one hit too many", "IDX-SEL-3", "while len(offsets) < max_num:", "while len(offsets) <= max_num:"),
    Mutant("window begin exclusive", "IDX-SEL-4", "begin <= time_read <= end", "begin < time_read <= end"),
    Mutant("window end exclusive", "IDX-SEL-4", "begin <= time_read <= end", "begin <= time_read < end"),
    Mutant("negative time diff read", "IDX-SEL-5", "if time_diff < 0:  # IDX-SEL-5", "if time_diff < -(1 << 40):"),
    Mutant("chain ends before count", "IDX-SEL-6", "previous > header.index_count or", "previous >= header.index_count or"),
    Mutant("ends at the window's begin", "IDX-SEL-7", "if time_read < begin:  # IDX-SEL-7", "if time_read <= begin:"),
    Mutant("walks past the window", "IDX-SEL-7", "if time_read < begin:  # IDX-SEL-7", "if False:"),
    Mutant("cover not strict", "IDX-TIME-1", "(begin < first and end > last)", "(begin <= first and end >= last)"),
    Mutant("begin exclusive", "IDX-TIME-2", "first <= begin <= last", "first < begin < last"),
    Mutant("end exclusive", "IDX-TIME-3", "first <= end <= last", "first < end < last"),
    Mutant("slot count not loaded", "IDX-LOAD-1", "self.hash_slot_count = self._bytes.get_int(32)", "pass"),
    Mutant("count of zero kept", "IDX-LOAD-2", "if self.index_count <= 0:", "if self.index_count < 0:", named=False),
    Mutant("flush writes no count", "IDX-FLUSH-1", "        self._bytes.put_int(36, self.index_count)\n\n    def set_begin_timestamp", "\n    def set_begin_timestamp"),
)  # fmt: skip


def library_of(mutant: Mutant, directory: Path) -> Library:
    """A copy of the reference with the line replaced, under a name of its own; errors are shared."""
    found = sum(text.count(mutant.old) for text in SOURCES.values())
    assert found == 1, f"{mutant.old!r} occurs {found} times"
    name = "mutant_" + mutant.name.translate(str.maketrans(" '-", "___"))
    (directory / name).mkdir()
    for file, text in SOURCES.items():
        copied = text.replace(mutant.old, mutant.new).replace("rocket_reference", name)
        (directory / name / file).write_text(
            copied.replace(f"{name}.errors", "rocket_reference.errors"), encoding="utf-8"
        )
    sys.path.insert(0, str(directory))
    try:
        return cast("Library", import_module(name))
    finally:
        sys.path.remove(str(directory))


@pytest.fixture(scope="module", params=MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def mutant(request: pytest.FixtureRequest) -> Mutant:
    return cast("Mutant", request.param)


@pytest.fixture(scope="module")
def library(mutant: Mutant, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return library_of(mutant, tmp_path_factory.mktemp("mutant"))


def test_mutant_dies_of_its_clauses_own_cases(mutant: Mutant, library: Library) -> None:
    with open_handler(ReferenceAdapter(library, name=mutant.name)) as transport:
        report = run(transport, Options(select=[f"{mutant.clause}/*"], examples=1, shrink_seconds=0))
    directed = [line for line in report.cases if "/prop-" not in line.id and "/seeded-" not in line.id]
    killed = [line for line in directed if line.verdict == "diverged"]
    assert killed, f"none of {len(directed)} directed cases notices"
    first = {line.id: line.divergence[0]["clause"] for line in killed}
    assert Counter(first.values()).most_common(1)[0][0] == mutant.clause, first
    assert report.exit_code == 1


def test_mutant_dies_of_properties_alone(mutant: Mutant, library: Library) -> None:
    with open_handler(ReferenceAdapter(library)) as transport:
        report = run(transport, Options(select=["*/prop-*"], examples=25, shrink_seconds=0))
    failed = {line.id: line.divergence[:1] for line in report.cases if line.verdict == "diverged"}
    assert failed
    named = {found["clause"] for divergence in failed.values() for found in divergence}
    assert mutant.clause in named or not mutant.named, failed


def test_the_reference_itself_passes() -> None:
    with open_handler(ReferenceAdapter()) as transport:
        report = run(transport, Options(examples=10))
    assert [line.id for line in report.cases if line.verdict != "pass"] == []
    assert report.exit_code == 0
