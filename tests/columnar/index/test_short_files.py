"""Index files that are short, or are cut while they are read, and chains without an end."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rocket_columnar.index import IndexFile, build
from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.layout import Geometry
from store_bytes import overwrite

T = 1_700_000_000_000


def made(tmp_path: Path, entries: int) -> tuple[Path, Geometry]:
    geometry = Geometry(entries, entries + 1)
    path = tmp_path / "20260101000000000"
    hashes = np.arange(entries, dtype=np.int32)
    build([path], hashes, hashes.astype(np.int64), np.full(entries, T), geometry=geometry)
    return path, geometry


@pytest.mark.parametrize("entries", [10_000, 100_000])
def test_an_index_file_cut_while_it_is_open(entries: int, tmp_path: Path) -> None:
    path, geometry = made(tmp_path, entries)
    with IndexFile.open_for_reading(path, geometry) as index:
        os.truncate(path, 4096)
        with pytest.raises(MalformedError, match="found the end of the file") as caught:
            index.entry(entries)
        assert caught.value.file == str(path)


def test_the_process_lives_on(tmp_path: Path) -> None:
    path, geometry = made(tmp_path, 10_000)
    code = f"""
import os, pathlib
from rocket_columnar.index import IndexFile
with IndexFile.open_for_reading(pathlib.Path({str(path)!r}), {tuple(geometry)!r}) as index:
    os.truncate({str(path)!r}, 0)
    try:
        index.entry(10_000)
    except ValueError:
        print("an error")
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "an error\n")


FOREVER = (1 << 63) - 1
NAME = "20260101000000000"


@pytest.mark.parametrize("size", [41, 900, 1600, 2222])
def test_zeros_are_read_after_the_end_of_a_short_file(tmp_path: Path, size: int) -> None:
    """In the slots, in the entries, and inside one; what a broker appends after the opening is not read."""
    path, geometry = tmp_path / NAME, Geometry(60, 120)
    dice = random.Random(size)
    with IndexFile(path, *geometry, end_timestamp=T) as file:
        for number in range(110):
            file.put(f"T#{dice.randrange(30)}", dice.randrange(1 << 50), T + 1000 * number)
    whole = path.read_bytes()
    os.truncate(path, size)
    zeros = tmp_path / "zeros" / NAME
    zeros.parent.mkdir()
    zeros.write_bytes(whole[:size] + bytes(len(whole) - size))
    keys = [f"T#{number}" for number in range(35)]
    with IndexFile.open_for_reading(path, geometry) as file, IndexFile(zeros, *geometry) as longer:
        longer.load()
        assert path.stat().st_size == size
        path.write_bytes(whole)
        expected = [longer.select(key, 64, 0, FOREVER) for key in keys]
        assert [file.select(key, 64, 0, FOREVER) for key in keys] == expected
        assert size < 1600 or any(expected)


def test_a_cycle_without_a_hit_is_an_error(tmp_path: Path) -> None:
    geometry = Geometry(1, 9)
    path = tmp_path / NAME
    with IndexFile(path, *geometry) as file:
        for number, key in enumerate("abcd", 1):
            file.put(key, number, T)
    overwrite(path, geometry.entries_offset + 20 * 2 + 16, (4).to_bytes(4))  # 4 -> 3 -> 2 -> 4
    with IndexFile.open_for_reading(path, geometry) as file:
        assert file.select("c", 5, 0, FOREVER) == [3] * 5
        with pytest.raises(InvalidError, match="leads back to entry"):
            file.select("a", 5, 0, FOREVER)
