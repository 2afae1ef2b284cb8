"""Seeded DLedger logs with damage: where the real recovery ends each, beside what SPEC.md's DLG-17 to DLG-19 foretell.

`DledgerRecoveries.java` runs the classes of DLedger 0.2.3, which 4.9.3 uses. What is foretold is read off the files before.
"""

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from rocket_columnar.restart import entry_log
from rocket_columnar.store import find_files
from rocket_spec.layout import ENTRY, ENTRY_INDEX_FILE_SIZE, ENTRY_INDEX_UNIT

pytestmark = pytest.mark.java

SIZE = 400  # bytes of a data file: up to six entries

FIELDS = {
    "magic": (0, 4),
    "size": (4, 4),
    "number": (8, 8),
    "term": (16, 8),
    "pos": (24, 8),
    "body_size": (44, 4),
}
VALUES = (0, 1, 2, -1, -2, 7, 44, 45, 47, 48, 49, 60, 100, 400, -48, -3, 0x7FFFFFFF, -0x80000000)
NUMBERS = (-1 << 63, -1 << 59, 1 << 58, (1 << 58) - 1, (1 << 63) - 1, 100, -5_242_880)
"""Of entries: their places in the index are 32 times as far."""


class Member:
    """One member's files: whole, then hurt at up to three places."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.draw = random.Random(seed)
        self.files: list[bytearray] = []
        self.entries: list[tuple[int, int]] = []
        self.units: dict[int, bytes] = {}
        self.first_number = self.draw.choice((0, 0, 0, 5, 5_242_878))
        self.first_file = self.draw.choice((0, 0, 3)) * SIZE
        self._fill()
        self.index: dict[int, int] | None = {0: ENTRY_INDEX_FILE_SIZE}
        self.index_names = ["020"]
        if self.first_number > 5:
            self.index[ENTRY_INDEX_FILE_SIZE] = ENTRY_INDEX_FILE_SIZE
        self.names = [self.first_file + SIZE * number for number in range(len(self.files))]
        self.checkpoint = f"endIndex=9\ncommittedIndex={self.first_number}\n"
        for _ in range(self.draw.choice((0, 1, 1, 1, 2, 3))):
            self.hurt()

    def _fill(self) -> None:
        draw, number, term = self.draw, self.first_number, 1
        for base in range(draw.randrange(1, 8)):
            data, room = bytearray(SIZE), SIZE
            for _ in range(draw.choice((9, 9, 9, 2, 1))):
                size = 48 + draw.choice((1, 20, 60))
                if size + 8 > room:
                    break
                pos = self.first_file + base * SIZE + SIZE - room
                header = struct.pack(ENTRY.struct_format, 1, size, number, term, pos, 0, 0, 0, size - 48)
                data[SIZE - room : SIZE - room + len(header)] = header
                self.entries.append((base, SIZE - room))
                self.units[number] = struct.pack(ENTRY_INDEX_UNIT.struct_format, 1, pos, size, number, term)
                room, number, term = room - size, number + 1, term + (draw.random() < 0.1)
            data[SIZE - room : SIZE - room + 8] = struct.pack(">ii", -1, room)
            self.files.append(data)
        if draw.random() < 0.8 and room:  # the last file is not full
            self.files[-1][SIZE - room :] = bytes(room)

    def hurt(self) -> None:
        draw = self.draw
        kind = draw.randrange(12)
        if kind < 6 and self.entries:
            base, at = draw.choice((*self.entries, *self.entries[-3:]))
            name = draw.choice((*FIELDS,))
            place, length = FIELDS[name]
            field = slice(at + place, at + place + length)
            before = int.from_bytes(self.files[base][field], signed=True)
            value = draw.choice((before + 1, before - 1, before + 7, draw.choice(VALUES)))
            if name == "number" and draw.random() < 0.3:
                value = draw.choice(NUMBERS)
            self.files[base][field] = (value % (1 << 8 * length)).to_bytes(length)
            if name == "size" and draw.random() < 0.5:
                body = (value - 48) % (1 << 32)
                self.files[base][at + 44 : at + 48] = body.to_bytes(4)
        elif kind == 6 and self.units:
            number = draw.choice((*self.units,))
            unit = bytearray(self.units[number])
            unit[draw.randrange(len(unit))] ^= draw.choice((1, 0x80))
            self.units[number] = bytes(unit)
        elif kind == 7:
            for number in [number for number in self.units if draw.random() < 0.5]:
                del self.units[number]
        elif kind == 8:
            self.index = draw.choice(
                (None, {0: ENTRY_INDEX_FILE_SIZE}, {ENTRY_INDEX_FILE_SIZE: ENTRY_INDEX_FILE_SIZE}, {})
            )
            self.index_names = draw.choice((["020"], ["020"], [""], ["020", ""]))
        elif kind == 9:
            self.names[draw.randrange(len(self.names))] += draw.choice((SIZE, 399, 1, 100))
        elif kind == 10:
            base = draw.randrange(len(self.files))
            self.files[base] = draw.choice((bytearray(SIZE), self.files[base][:-1], self.files[base] + b"\0"))
        else:
            words = ("abc", "", "-1", "9" * 25, " 3 ", "3x", "0", "-5", "500")
            self.checkpoint = draw.choice(("", *(f"committedIndex={word}\n" for word in words)))

    def write(self) -> None:
        data = self.folder / "data"
        data.mkdir(parents=True)
        for name, content in zip(self.names, self.files, strict=True):
            (data / f"{name:020}").write_bytes(content)
        if self.index is not None:
            (self.folder / "index").mkdir()
            for start, size in self.index.items():
                for form in self.index_names:
                    self._write_index(start, size, format(start, form))
        if self.checkpoint:
            (self.folder / "checkpoint").write_text(self.checkpoint)

    def _write_index(self, start: int, size: int, name: str) -> None:
        with (self.folder / "index" / name).open("wb") as file:
            file.truncate(size)
            for number, unit in self.units.items():
                at = number * ENTRY_INDEX_UNIT.size - start
                if 0 <= at < size:
                    file.seek(at)
                    file.write(unit)

    def foretold(self) -> str:
        """The end and the data files that are left; or that the store does not load, as with a file of another length."""
        files = [file for file in find_files(self.folder.parent) if file.kind == "log"]
        found = entry_log(files, SIZE)
        if found.refused is not None or any(file.size() != SIZE for file in files):
            return "refused"
        left = (file.path.name for file in files if file.base_offset <= found.end)
        return f"{found.end} {','.join(left)}"


def recovered(answer: str) -> str:
    if answer in {"exit", "thrown"}:
        return "refused"
    end, _, files = answer.split(" ")
    return f"{end} {files}"


@pytest.mark.parametrize(
    ("first", "count"), [(0, 100), pytest.param(100, 20_000, marks=pytest.mark.soak)], ids=["100", "20,000"]
)
def test_where_a_recovery_ends(
    first: int, count: int, run_program: Callable[..., None], tmp_path: Path
) -> None:
    members = [Member(tmp_path / f"{seed}/dledger-n0", seed) for seed in range(first, first + count)]
    for member in members:
        member.write()
    foretold = [member.foretold() for member in members]
    given, answers = tmp_path / "given", tmp_path / "answers"
    given.write_text("".join(f"{member.folder}\n" for member in members))
    run_program("DledgerRecoveries", given, answers, str(SIZE))
    found = [recovered(answer) for answer in answers.read_text().splitlines()]
    assert {
        member.folder.parent.name: (told, real)
        for member, told, real in zip(members, foretold, found, strict=True)
        if told != real
    } == {}
