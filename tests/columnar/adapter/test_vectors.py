"""Every vector, the real IndexFile's answers and bytes, from the engine through its adapter."""

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.adapter import Adapter
from rocket_golden import vectors, zstd

Case = dict[str, Any]
CASES: list[Case] = list(vectors())


def unpack(file: dict[str, str]) -> bytes:
    return zstd.decompress(base64.b64decode(file["zstd_base64"]))


def verdicts(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results, the reason of a rejection aside."""
    return [{"rejected": ""} if "rejected" in result else result for result in results]


def test_there_are_vectors() -> None:
    assert len(CASES) >= 600


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_engine_answers_and_writes_as_the_real_one(case: Case, tmp_path: Path) -> None:
    directory = tmp_path / "case"
    directory.mkdir()
    for name, file in case["files"].items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(unpack(file))
    answer = Adapter().handle({"cmd": "case", "id": "1", "dir": str(directory), "ops": case["ops"]})
    assert answer is not None
    assert verdicts(answer["results"]) == verdicts(case["expected"]["results"])
    files = (path for path in directory.rglob("*") if path.is_file())
    left = {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
    assert left == {name: unpack(file) for name, file in case["expected"]["files"].items()}
    shutil.rmtree(directory)
