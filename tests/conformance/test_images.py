"""Images of files: sparse ones too, and where two differ."""

from pathlib import Path

import pytest
from rocket_conformance.files import CHUNK, Allowance, FileImage, image_from_base64, image_of, read_image

SIZES = [0, 1, 40, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 40 * CHUNK + 7]


@pytest.mark.parametrize("size", SIZES)
def test_an_image_comes_back_from_disk_and_from_base64(tmp_path: Path, size: int) -> None:
    data = bytearray(size)
    for offset in (0, 36, CHUNK, size - 1):
        if 0 <= offset < size:
            data[offset] = 7
    image = image_of(bytes(data))
    image.write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == data
    with (tmp_path / "file").open("rb") as file:
        assert read_image(file) == image
    assert image_from_base64(image.to_base64(), Allowance()) == image
    assert b"".join(image.pieces()) == data


def test_a_default_index_file_costs_little(tmp_path: Path) -> None:
    image = FileImage(420_000_040, {0: bytes(36) + b"\0\0\0\1" + bytes(CHUNK - 40)})
    image.write(tmp_path / "file")
    with (tmp_path / "file").open("rb") as file:
        again = read_image(file)
    assert again == image
    assert len(again.chunks) == 1
    assert len(image.to_base64()) < 100_000


def test_bytes_at_an_offset_cross_chunks_and_end_with_the_file() -> None:
    data = bytes(range(256)) * 1024
    image = image_of(data)
    assert image.at(CHUNK - 3, 6) == data[CHUNK - 3 : CHUNK + 3]
    assert image.at(len(data) - 2, 10) == data[-2:]
    assert image.at(len(data), 10) == b""


def test_differing_bytes_are_those_that_differ() -> None:
    one, two = bytearray(3 * CHUNK), bytearray(3 * CHUNK + 5)
    offsets = [0, CHUNK - 1, CHUNK, 2 * CHUNK + 17]
    for offset in offsets:
        two[offset] = 1
    two[-1] = 9
    assert list(image_of(bytes(one)).differing_bytes(image_of(bytes(two)))) == offsets


def test_an_image_without_its_bytes_is_like_those_it_had_and_no_others() -> None:
    data = bytes(range(256)) * 1024
    dropped = image_of(data).without_bytes()
    assert dropped.held == 0
    assert dropped.is_like(image_of(data))
    assert not dropped.is_like(image_of(data[:-1]))
    assert not dropped.is_like(image_of(data[:-1] + b"\0"))
    assert not dropped.is_like(image_of(data[CHUNK:] + data[: CHUNK - 1] + b"\0"))
