"""The code blocks of SPEC.md, taken out of the page and run on the vectors, whose answers are the real jar's."""

import base64
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from page_port import page_library
from rocket_conformance.reference_adapter import run_operations
from rocket_golden import zstd
from spec_blocks import headings
from store_bytes import contents

Vector = dict[str, Any]
QUEUE_OPS = {"queue.open", "queue.put", "queue.recover", "queue.bounds", "queue.get"}


def unpacked(files: dict[str, Any]) -> dict[str, bytes]:
    return {name: zstd.decompress(base64.b64decode(file["zstd_base64"])) for name, file in files.items()}


def answers(results: list[Vector]) -> list[Vector]:
    """Results without the reasons of what was rejected."""
    return [{"rejected": True} if "rejected" in result else result for result in results]


def differing(vectors: list[Vector], folder: Path, **changes: str) -> list[str]:
    """Ids of the vectors on which the page's code gives other results or leaves other bytes; `changes` as of page_library."""
    wrong: list[str] = []
    library = page_library(changes)
    for number, vector in enumerate(vectors):
        root = folder / str(number)
        root.mkdir()
        for name, data in unpacked(vector["files"]).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        results = answers(run_operations(vector["ops"], root, library=library)[0])
        expected = vector["expected"]
        if (results, contents(root)) != (answers(expected["results"]), unpacked(expected["files"])):
            wrong.append(vector["id"])
    return wrong


def queue_vectors() -> list[Vector]:
    return [
        vector
        for vector in rocket_golden.vectors(store=True)
        if {op["op"] for op in vector["ops"]} <= QUEUE_OPS
        and not any("rejected" in result for result in vector["expected"]["results"])
    ]


def test_index_vectors(tmp_path: Path) -> None:
    """Put and select: every vector of the index file there is."""
    vectors = list(rocket_golden.vectors())
    assert len(vectors) > 400
    assert differing(vectors, tmp_path) == []


def test_queue_vectors(tmp_path: Path) -> None:
    """Queue put and queue recovery: every vector that only loads, puts, gets and recovers."""
    vectors = queue_vectors()
    assert len(vectors) > 60
    assert sum(any(op["op"] == "queue.recover" for op in vector["ops"]) for vector in vectors) > 8
    assert differing(vectors, tmp_path) == []


@pytest.mark.parametrize(
    ("clause", "line", "wrong"),
    [
        ("IDX-PUT-4", "min(max(seconds, 0), 2147483647)", "min(max(seconds, 0), 2147483646)"),
        ("IDX-PUT-5", "previous <= 0 or previous > f.index_count", "previous <= 0 or previous >= f.index_count"),
        ("IDX-SEL-3", "len(found) < maximum", "len(found) <= maximum"),
        ("IDX-SEL-4", "begin <= time <= end", "begin <= time < end"),
        ("CQ-PUT-1", "if i64(phy_offset + size) <= q.end:", "if i64(phy_offset + size) < q.end:"),
        ("CQ-PUT-6", "rem(place, q.file_size), 20", "0, 20"),
        ("CQ-REC-1", "len(q.files) - 3", "len(q.files) - 2"),
        ("CQ-REC-2", "if phy_offset < 0 or size <= 0:", "if size <= 0:"),
        ("CQ-REC-3", "q.delete(file)", "pass"),
        ("CQ-REC-3", "rem(end, q.file_size)", "end - file.start"),
    ],
)  # fmt: skip
def test_a_wrong_block_is_noticed(clause: str, line: str, wrong: str, tmp_path: Path) -> None:
    family = clause.rpartition("-")[0]
    vectors = [vector for vector in rocket_golden.vectors() if vector["id"].startswith(family)]
    assert differing(vectors or queue_vectors(), tmp_path, **{line: wrong})


def test_every_block_is_run() -> None:
    """The blocks of dispatch and recovery are run by test_restart_scripts.py of tests/reference, and test_dledger_recovery.py."""
    assert headings() == [
        "Put, step by step",
        "Select, step by step",
        "Queue put, step by step",
        "Queue recovery, step by step",
        "Dispatch, step by step",
        "Recovery, step by step",
    ]
