"""Case files from strangers: refused in one line before anything is written, run or unpacked."""

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from changed_adapter import open_index
from rocket_conformance.cases import case_from_json
from rocket_conformance.comparison import fill_directory
from rocket_conformance.counterexamples import read_replay
from rocket_conformance.files import image_of
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.report import read_baseline
from rocket_golden import DamagedError, manifest, vectors, zstd
from rocket_spec.errors import MalformedError
from verb_run import Verb

HASH = {"op": "key.hash", "key": "a"}
OPEN = open_index()
QUEUE = {"op": "queue.open", "topic": "T", "queue_id": 0, "file_size": 100, "load": False}
LOG = {"op": "log.dispatch", "file": "log", "check_crc": True}
SELECT = {"op": "index.select", "key": "a", "max_num": 1, "begin": "0", "end": "0"}
OUTSIDE = (
    "../../x", "/etc/x", "a/../../x", "..", ".", "", "a//b", "a/", "C:/x", "a\\..\\..\\x", "a\0b", "x" * 300, "\x1b[2J",
    "/".join("a" * 17),
)  # fmt: skip


def packed(data: bytes) -> str:
    return base64.b64encode(zstd.compress(data)).decode("ascii")


def document(**changes: Any) -> dict[str, Any]:
    return {"rocketspec_case": 1, "id": "IDX-HASH-1/x", "clauses": ["IDX-HASH-1"], "ops": [HASH], **changes}


def bomb(size: int) -> str:
    compressor = zstd.ZstdCompressor(level=1)
    block = b"\xff" * (1 << 20)
    parts = [compressor.compress(block) for _ in range(size >> 20)]
    return base64.b64encode(b"".join([*parts, compressor.flush()])).decode("ascii")


# --- paths ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", OUTSIDE, ids=ascii)
def test_a_path_that_leads_outside_is_refused(path: str) -> None:
    file = {"zstd_base64": packed(b"harm")}
    hostile = [
        document(files={path: file}),
        document(expected={"results": [{"hash": 97}], "files": {path: file}}),
        document(ops=[{**OPEN, "file": path}]),
        document(ops=[{**LOG, "file": path}]),
        document(ops=[{**QUEUE, "topic": path}]),
    ]
    for value in hostile:
        with pytest.raises(MalformedError):
            case_from_json(value, file="x.json")


def test_nothing_is_written_outside_the_directory_of_a_case(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "case"
    directory.parent.mkdir()
    with pytest.raises(ValueError, match="inside the case's directory"):
        fill_directory(directory, {"../../harm": image_of(b"harm")})
    for op in (
        {**OPEN, "file": "../../harm"},
        {**QUEUE, "topic": "../../.."},
        {**LOG, "file": "/etc/passwd"},
    ):
        with pytest.raises(ValueError, match=r"path inside|name of one folder"):
            ReferenceAdapter().handle({"cmd": "case", "id": "1", "dir": str(directory), "ops": [op]})
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "case"]


@pytest.mark.parametrize(
    ("data", "begin"),
    [
        (
            json.dumps(document(files={"../../../../../../../tmp/harm": {"zstd_base64": packed(b"x")}})),
            "found '../",
        ),
        ("[" * 1_000_000, "found JSON that nests too deeply, expected a case file\n"),
    ],
    ids=["a path outside", "deep"],
)
def test_the_replay_verb_refuses_in_one_line(data: str, begin: str, tmp_path: Path, verb: Verb) -> None:
    path = tmp_path / "case.json"
    path.write_text(data)
    run = verb("replay", path)
    assert (run.code, run.out, run.err.count("\n")) == (3, "", 1)
    assert run.err.startswith(f"rocketspec: {path}: {begin}")


# --- what it unpacks to -----------------------------------------------------------------------------------


def test_bytes_that_unpack_to_3_gb_are_refused() -> None:
    with pytest.raises(MalformedError, match="256 MiB of it not zero"):
        case_from_json(document(files={"x": {"zstd_base64": bomb(300 << 20)}}))


def test_files_share_one_limit() -> None:
    half = {"zstd_base64": bomb(130 << 20)}
    assert case_from_json(document(files={"x": half})).files["x"].size == 130 << 20
    with pytest.raises(MalformedError, match="in all files of a case"):
        case_from_json(
            document(files={"x": half}, expected={"results": [{"hash": 97}], "files": {"x": half}})
        )


# --- shapes -----------------------------------------------------------------------------------------------

SHAPES: Mapping[str, Any] = {
    "a list": [],
    "rocketspec_case true": document(rocketspec_case=True),
    "no ops": {name: value for name, value in document().items() if name != "ops"},
    "ops a text": document(ops="key.hash"),
    "ops of numbers": document(ops=[7]),
    "an operation that is a list": document(ops=[["key.hash"]]),
    "an operation name that is a list": document(ops=[{"op": ["key.hash"]}]),
    "an unknown operation": document(ops=[{"op": "index.explode"}]),
    "a key that is a number": document(ops=[{"op": "key.hash", "key": 7}]),
    "a lone surrogate in a key": document(ops=[{"op": "key.hash", "key": "\ud800"}]),
    "hex of half a unit": document(ops=[{"op": "key.hash", "key_utf16": "d8"}]),
    "hex that is none": document(ops=[{"op": "key.hash", "key_utf16": "xx"}]),
    "a 64-bit number": document(ops=[{**OPEN, "end_timestamp": 0}]),
    "a field that is unknown": document(ops=[{**HASH, "more": 1}]),
    "2,000,000 results": document(ops=[{**SELECT, "max_num": 2_000_000}]),
    **{f"topic {topic!r}": document(ops=[{**QUEUE, "topic": topic}]) for topic in ("a/b", 7, None)},
    **{
        f"queue {number!r}": document(ops=[{**QUEUE, "queue_id": number}])
        for number in ("../../x", "0", 1.5, True, 1 << 31)
    },
    "clauses a text": document(clauses="IDX-HASH-1"),
    "clauses of numbers": document(clauses=[1]),
    "clauses of another form": document(clauses=["../x"]),
    "no clause, and none in the id": document(id="x", clauses=[]),
    "no id": document(id=None),
    "an id that moves the cursor": document(id="\x1b[2J"),
    "an id of 10 MB": document(id="x" * 10_000_000),
    "seed a text": document(seed="7"),
    "files a list": document(files=["x"]),
    "a file that is a text": document(files={"x": "AAAA"}),
    "a file without bytes": document(files={"x": {"sha256": "0"}}),
    "bytes that are a number": document(files={"x": {"zstd_base64": 7}}),
    "a file in a file": document(
        files={"x": {"zstd_base64": packed(b"")}, "x/y": {"zstd_base64": packed(b"")}}
    ),
    "1,001 files": document(files={str(number): {"zstd_base64": packed(b"")} for number in range(1_001)}),
    "expected a list": document(expected=[]),
    "expected without results": document(expected={"files": {}}),
    "one result too few": document(expected={"results": [], "files": {}}),
    "a result that is a number": document(expected={"results": [7], "files": {}}),
    "a result of the wrong kind": document(expected={"results": [{"hash": "97"}], "files": {}}),
}


@pytest.mark.parametrize("value", SHAPES.values(), ids=SHAPES.keys())
def test_a_shape_that_is_no_case(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(value))
    with pytest.raises(MalformedError) as caught:
        read_replay(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.isprintable()
    assert len(text) < 1_000


# --- files that are no files, and baselines -----------------------------------------------------------------


def test_a_sparse_case_file_of_1_tb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(MalformedError, match="1,099,511,627,776 bytes"):
        read_replay(path)


def test_a_fifo_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    for read in (read_replay, read_baseline):
        with pytest.raises(MalformedError, match="not a regular file"):
            read(path)
        with pytest.raises((MalformedError, OSError)):
            read(tmp_path)


# --- vectors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [False, True])
def test_vectors_that_are_not_the_recorded_ones_are_refused(
    *, store: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for packed_file in manifest().vectors or ():
        copy = tmp_path / packed_file.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(b"[]".ljust(packed_file.size))
    monkeypatch.setattr("rocket_golden._archive.ROOT", tmp_path)
    with pytest.raises(DamagedError, match="SHA-256"):
        list(vectors(store=store))
