"""Each verb on a store that a real 4.9.3 wrote in DLedger mode, compared with what Java read in it."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from rocket_golden import open_store, truth
from verb_run import runner

if TYPE_CHECKING:
    from pathlib import Path

    from verb_run import Outcome

NAME = "dledger"
MEMBER = "dledger-n0"
FIRST = "00000000000000000000"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(NAME, tmp_path_factory.mktemp("dledger"))


@pytest.fixture(scope="module")
def java() -> dict[str, list[dict[str, Any]]]:
    """The lines of Java's truth, by their type."""
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in truth(NAME):
        lines[line["type"]].append(line)
    return lines


class Verbs:
    """Runs any verb in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._fixtures = capfd, monkeypatch

    def __call__(self, verb: str, *arguments: object) -> Outcome:
        return runner(verb, *self._fixtures)(*arguments)

    def rows(self, verb: str, *arguments: object) -> list[dict[str, Any]]:
        """The lines that a verb prints, which has to end with exit code 0 and no message."""
        done = self(verb, *arguments)
        assert (done.code, done.err) == (0, "")
        return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def verbs(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verbs:
    return Verbs(capfd, monkeypatch)


@pytest.mark.parametrize(
    ("table", "kind", "fields"),
    [
        (
            "commit_log",
            "log_record",
            ("file", "phy_offset", "size", "topic", "queue_offset", "uniq_key", "body"),
        ),
        ("consume_queue", "queue_unit", ("file", "logical_offset", "phy_offset", "size", "tags_code")),
        ("index_entries", "index_entry", ("file", "entry", "slot", "key_hash", "phy_offset", "prev_entry")),
        ("checkpoint", "checkpoint", ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")),
    ],
)
def test_decode(
    verbs: Verbs, store: Path, java: dict[str, Any], table: str, kind: str, fields: tuple[str, ...]
) -> None:
    def picked(rows: list[dict[str, Any]]) -> list[list[Any]]:
        return [[row[field] for field in fields] for row in rows]

    assert picked(verbs.rows("decode", store, "--table", table)) == picked(java[kind])


def test_inspect_a_store(verbs: Verbs, store: Path, java: dict[str, Any]) -> None:
    (found,) = verbs.rows("inspect", store, "--json")
    assert (found["kind"], found["log"]["end"]) == ("DLedger", java["dledger"][0]["write_pos"])
    queues = [[queue[name] for name in ("topic", "queue_id", "min", "max")] for queue in java["queue"]]
    assert queues == [
        [queue[name] for name in ("topic", "queue_id", "min_offset", "max_offset")]
        for queue in found["queues"]
    ]
    assert [index["file"] for index in found["indexes"]] == [line["file"] for line in java["index_header"]]
    assert found["findings"] == []


def test_inspect_a_file(verbs: Verbs, store: Path, java: dict[str, Any]) -> None:
    log_file = store / MEMBER / "data" / FIRST
    (found,) = verbs.rows("inspect", log_file, "--json")
    records = [line for line in java["log_record"] if line["file"] == f"{MEMBER}/data/{FIRST}"]
    assert (found["records"], found["used_bytes"]) == (len(records), java["log_file"][0]["used"])
    (header,) = verbs.rows("inspect", log_file, "--at", 0, "--json")
    (record,) = verbs.rows("inspect", log_file, "--at", records[0]["phy_offset"], "--json")
    assert (header["structure"], record["structure"]) == ("DLedger entry", "commit-log record")


def test_query(verbs: Verbs, store: Path, java: dict[str, Any]) -> None:
    for line in java["query"][::151]:
        window = ("--begin", line["begin"], "--end", line["end"], "--max", line["max_num"])
        done = verbs("query", store, "--topic", line["topic"], "--key", line["key"], *window, "--json")
        assert done.code == (0 if line["messages"] else 1)
        found = json.loads(done.out)
        assert found["offsets"] == line["offsets"]
        assert [row["phy_offset"] for row in found["messages"]] == line["messages"]
        assert found["last_update_phy_offset"] == line["messages_last_update_phy_offset"]


def test_audit(verbs: Verbs, store: Path) -> None:
    for level in ((), ("--quick",), ("--deep",)):
        assert verbs.rows("audit", store, *level, "--json") == []


def test_audit_of_a_restart(verbs: Verbs, store: Path, java: dict[str, Any]) -> None:
    *deletions, plan = verbs.rows("audit", store, "--restart", "--json")
    assert deletions == []
    assert (plan["refused"], plan["lost_keys"], plan["lost_units"]) == (None, 0, 0)
    assert plan["log_end"] == java["dledger"][0]["write_pos"]


def test_rebuild(verbs: Verbs, store: Path, tmp_path: Path) -> None:
    """The bytes that the broker wrote."""
    assert verbs("rebuild", store, "-o", tmp_path / "new").code == 0
    for part in ("index", "consumequeue"):
        theirs, ours = (
            [path.read_bytes() for path in sorted((folder / part).rglob("*")) if path.is_file()]
            for folder in (store, tmp_path / "new")
        )
        assert len(theirs) > 5
        assert ours == theirs


def test_diff(verbs: Verbs, store: Path, tmp_path: Path) -> None:
    log_file, copy = store / MEMBER / "data" / FIRST, tmp_path / FIRST
    data = bytearray(log_file.read_bytes())
    data[48 + 20 + 7] ^= 1  # the queue offset of the first record
    copy.write_bytes(data)
    assert verbs("diff", log_file, log_file).code == 0
    done = verbs("diff", log_file, copy)
    assert (done.code, done.out) == (1, "record 48 queue_offset (byte 68): 0 | 1\n1 difference\n")


def test_digest(verbs: Verbs, store: Path, tmp_path: Path) -> None:
    """The path and DLedger's own files make no difference; a record does."""
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    shutil.rmtree(copy / MEMBER / "index")
    before = verbs.rows("digest", store, "--json")
    assert before == verbs.rows("digest", copy, "--json")
    path = copy / MEMBER / "data" / FIRST
    data = bytearray(path.read_bytes())
    data[48 + 8] ^= 1  # the CRC of the first record
    path.write_bytes(data)
    assert before[-1] != verbs.rows("digest", copy, "--json")[-1]


@pytest.mark.parametrize("part", [MEMBER, f"{MEMBER}/data", f"{MEMBER}/index"])
@pytest.mark.parametrize(
    "verb", [("audit",), ("audit", "--restart"), ("query", "--topic", "T", "--key", "k")]
)
def test_the_directory_of_a_member_is_not_a_store(
    verbs: Verbs, store: Path, verb: tuple[str, ...], part: str
) -> None:
    done = verbs(verb[0], store / part, *verb[1:])
    assert (done.code, done.out) == (2, "")
    assert (
        done.err == f"rocketspec: {store / part}: belongs to a DLedger member; expected the store, {store}\n"
    )
