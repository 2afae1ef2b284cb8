"""Index files that are cut while they are read: one clear error, where a mapping would end the process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rocket_columnar.index import IndexFile, build
from rocket_spec.errors import MalformedError
from rocket_spec.layout import Geometry

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
