"""Damaged bytes of every kind end in rows, gaps or one clear error, never in anything else."""

import io
import random
from pathlib import Path

import pytest
from rocket_columnar.decode import decode, write_stream
from rocket_columnar.log import Gap
from rocket_columnar.store import KINDS, StoreFile, find_files
from rocket_golden import open_store
from rocket_spec.errors import FormatError, UsageError

MARKS = (b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xda\xa3\x20\xa7", b"\xcb\xd4\x31\x94")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[StoreFile]:
    directory = tmp_path_factory.mktemp("golden")
    return [file for name in ("small-roll", "ext") for file in find_files(open_store(name, directory))]


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Some bytes overwritten, and now and then the end cut off or something behind it."""
    damage = bytearray(data)
    for _ in range(dice.choice([0, 1, 3, 20])):
        mark = dice.choice([*MARKS, dice.randbytes(8)])
        position = dice.randrange(len(damage))
        damage[position : position + len(mark)] = mark
    ending = dice.random()
    if ending < 0.2:
        del damage[dice.randrange(len(damage)) :]
    elif ending < 0.3:
        damage += dice.randbytes(dice.randrange(50))
    return bytes(damage)


@pytest.mark.parametrize("seed", range(20))
def test_damage_is_told_in_one_line(tmp_path: Path, originals: list[StoreFile], seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    for _ in range(40):
        original = dice.choice(originals)
        path = tmp_path / original.path.name
        path.write_bytes(damaged(original.path.read_bytes(), dice))
        kind = dice.choice([None, original.kind, original.kind, dice.choice(KINDS)])
        gaps: list[Gap] = []
        said = f"{path}: no error"
        try:
            files = find_files(path, kind)
            for table, batch in decode(files, on_gap=gaps.append, all_entries=dice.random() < 0.5):
                batch.validate(full=True)
                write_stream([(table, batch)], io.BytesIO(), "jsonl")
        except (FormatError, UsageError) as error:
            said = str(error)
        assert said.startswith(str(path))
        assert all("\n" not in line for line in [said, *map(str, gaps)])
