"""Chains that are walked side by side: what one walk after another finds."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from rocket_columnar.index import IndexFile
from rocket_spec.layout import Geometry

HASHES = [*range(-4, 5), 7, 12, (1 << 31) - 1, -(1 << 31)]


def written(path: Path, draw: random.Random, geometry: Geometry, size: int) -> None:
    """An index file of chains at random: good ones, cycles, and links that lead out of the file; it ends at `size` bytes."""
    count = draw.randrange(-1, geometry.index_num + 2)
    slots = [draw.randrange(-2, geometry.index_num + 3) for _ in range(geometry.hash_slot_num)]
    entries = [
        (draw.choice(HASHES), number, 0, draw.randrange(-1, geometry.index_num + 2))
        for number in range(geometry.index_num)
    ]
    header = struct.pack(">qqqqii", 0, 0, 0, 0, 0, count)
    data = (
        header
        + struct.pack(f">{len(slots)}i", *slots)
        + b"".join(struct.pack(">iqii", *one) for one in entries)
    )
    path.write_bytes(data[:size])


@pytest.mark.parametrize("seed", range(40))
def test_side_by_side_as_one_after_another(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    geometry = Geometry(draw.randrange(1, 6), draw.randrange(1, 20))
    path = tmp_path / "20260101000000000"
    written(path, draw, geometry, draw.choice([40, 60, 200, 10_000]))
    with IndexFile.open_for_reading(path, geometry) as index:
        which, offsets = index.hits(np.array(HASHES, np.int64))
        found = {(HASHES[number], offset) for number, offset in zip(which, offsets, strict=True)}
        expected = set()
        for one in HASHES:
            seen = set()
            for number, entry in index.chain(one):
                if number in seen:
                    break
                seen.add(number)
                if entry.key_hash == one:
                    expected.add((one, entry.phy_offset))
    assert found == expected
    assert len(which) < 1000  # a cycle is walked around once or twice, not on and on


def test_a_slot_that_was_put_into_after_the_header_was_read(tmp_path: Path) -> None:
    path, geometry = tmp_path / "20260101000000000", Geometry(5000, 10)  # slots on several pages
    key_hash = 4999
    with IndexFile(path, *geometry) as writer, IndexFile.open_for_reading(path, geometry) as index:
        writer.put(chr(key_hash), 77, 1)  # one character: its hash is its number
        assert index.hits(np.array([key_hash]))[1].tolist() == [77]
