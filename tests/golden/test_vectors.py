"""The vectors: their form, what they cover, some worked out by hand, and that the real jar still says the same."""

from __future__ import annotations

import base64
import copy
import hashlib
import itertools
import json
import re
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import rocket_golden
import rocket_reference as reference
from rocket_golden import zstd
from rocket_spec.clauses import clauses

PACKAGE = Path(rocket_golden.__file__).parent
STORE = PACKAGE / "vectors" / "store"
GENERATOR = Path(__file__).parents[2] / "golden" / "generator" / "vectors"
Case = dict[str, Any]
Op = dict[str, Any]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(rocket_golden.vectors())


@pytest.fixture(scope="module")
def store_cases() -> list[Case]:
    """The vectors of the whole store, which the suite takes up when its adapters know their operations."""
    return [case for path in sorted(STORE.glob("*.json")) for case in json.loads(path.read_text("utf-8"))]


@pytest.fixture(scope="module")
def by_id(cases: list[Case]) -> dict[str, Case]:
    return {case["id"]: case for case in cases}


def unpack(file: dict[str, str]) -> bytes:
    return zstd.decompress(base64.b64decode(file["zstd_base64"]))


def only_file(case: Case) -> bytes:
    (file,) = case["expected"]["files"].values()
    return unpack(file)


# --- form ---------------------------------------------------------------------------------------------


def test_cases_follow_the_schema(cases: list[Case]) -> None:
    schema = json.loads((PACKAGE / "case.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert [(case["id"], error.message) for case in cases for error in validator.iter_errors(case)] == []


@pytest.mark.parametrize(
    "damage",
    [
        {"rocketspec_case": 2},
        {"id": "IDX-PUT-5"},
        {"description": "x"},
        {"geometry": [7]},
        {"ops": [{"op": "index.put", "key": "a", "phy_offset": 1, "store_timestamp": "1"}]},
        {"ops": [{"op": "index.flush", "key": "a"}]},
        {"ops": [{"op": "index.unknown"}]},
        {"ops": [{"op": "key.hash"}]},
        {"ops": [{"op": "key.hash", "key": "a", "key_utf16": "0061"}]},
        {"expected": {"results": []}},
        {"surplus": 1},
    ],
)
def test_schema_refuses(cases: list[Case], damage: dict[str, Any]) -> None:
    schema = json.loads((PACKAGE / "case.schema.json").read_text("utf-8"))
    case = cases[0] | damage
    assert not jsonschema.Draft202012Validator(schema).is_valid(case)


def test_ids_are_unique(cases: list[Case]) -> None:
    assert [name for name, count in Counter(case["id"] for case in cases).items() if count > 1] == []


def test_ids_name_the_first_clause(cases: list[Case]) -> None:
    assert [case["id"] for case in cases if not case["id"].startswith(f"{case['clauses'][0]}/")] == []


def test_a_result_for_each_operation(cases: list[Case]) -> None:
    assert [case["id"] for case in cases if len(case["ops"]) != len(case["expected"]["results"])] == []


def test_hashes_are_those_of_the_bytes(cases: list[Case]) -> None:
    files = [file for case in cases for file in case["expected"]["files"].values()]
    assert len(files) > 600
    assert [file for file in files if hashlib.sha256(unpack(file)).hexdigest() != file["sha256"]] == []


def test_producer_is_the_real_jar(cases: list[Case]) -> None:
    assert {case["producer"] for case in cases} == {"rocketmq-store 4.9.3"}


def test_lone_surrogates_come_in_hexadecimal(cases: list[Case]) -> None:
    lone = [bytes.fromhex(op["key_utf16"]) for case in cases for op in case["ops"] if "key_utf16" in op]
    assert len(lone) >= 6
    for units in lone:
        with pytest.raises(UnicodeDecodeError):
            units.decode("utf-16-be")


def test_size_of_all_files() -> None:
    assert sum(path.stat().st_size for path in (PACKAGE / "vectors").iterdir()) < 3 << 20


# --- coverage -----------------------------------------------------------------------------------------


def test_every_clause_has_directed_vectors(cases: list[Case]) -> None:
    directed = Counter(case["clauses"][0] for case in cases if case["seed"] is None)
    families = ("HASH", "FILE", "HDR", "SLOT", "ENT", "PUT", "FULL", "SEL", "TIME", "LOAD", "FLUSH")
    wanted = [
        clause.id
        for clause in clauses().values()
        if clause.id.startswith(tuple(f"IDX-{family}-" for family in families)) and clause.evidence == "case"
    ]
    assert len(wanted) >= 40
    assert [clause for clause in wanted if directed[clause] < 2] == []


def test_clauses_exist(cases: list[Case]) -> None:
    known = {clause.id for clause in clauses().values()}
    assert {clause for case in cases for clause in case["clauses"]} - known == set()


def test_seeded_vectors(cases: list[Case]) -> None:
    seeded = Counter(case["clauses"][0] for case in cases if case["seed"] is not None)
    assert seeded == {"IDX-PUT-6": 120, "IDX-LOAD-1": 120, "IDX-SEL-6": 120}


def test_seeded_vectors_are_no_empty_runs(cases: list[Case]) -> None:
    """Selects of the seeded vectors find something often enough to mean something."""
    results = [
        result["offsets"]
        for case in cases
        if case["seed"] is not None
        for result in case["expected"]["results"]
        if "offsets" in result
    ]
    assert sum(1 for offsets in results if offsets) > len(results) / 3


# --- worked out by hand -------------------------------------------------------------------------------


def test_one_put_byte_by_byte(by_id: dict[str, Case]) -> None:
    data = only_file(by_id["IDX-HDR-1/one-put"])
    times, offsets = 0x1112131415161718, 0x0102030405060708
    header = struct.pack(">qqqqii", times, times, offsets, offsets, 1, 2)
    slot, entry_0, entry_1 = struct.pack(">i", 1), bytes(20), struct.pack(">iqii", 97, offsets, 0, 0)
    assert data == header + slot + entry_0 + entry_1 + bytes(40)


def test_slot_that_equals_the_count_by_hand(by_id: dict[str, Case]) -> None:
    case = by_id["IDX-PUT-5/slot-equals-count"]
    entry = only_file(case)[40 + 28 + 80 :][:20]
    assert struct.unpack(">iqii", entry)[1:] == (400, 1, 4)  # entry 4 precedes itself
    assert case["expected"]["results"][2]["hash_slot_count"] == 1  # as the file had it


def test_rolled_file_by_hand(by_id: dict[str, Case]) -> None:
    case = by_id["IDX-PUT-8/against-the-seed"]
    data = only_file(case)
    begin, time_diff = struct.unpack_from(">q", data)[0], struct.unpack_from(">i", data, 40 + 28 + 20 + 12)[0]
    assert (begin, time_diff) == (1_700_000_005_999, 5)
    assert (
        case["ops"][-1]["begin"] == case["ops"][-1]["end"] == "1700000010999"
    )  # begin + 5 s, not the put's time
    assert case["expected"]["results"][-2:] == [{"offsets": []}, {"offsets": ["100"]}]


def test_chain_by_hand(by_id: dict[str, Case]) -> None:
    data = only_file(by_id["IDX-PUT-6/chain"])
    previous = [struct.unpack_from(">i", data, 40 + 28 + 20 * entry + 16)[0] for entry in range(6)]
    assert previous == [0, 0, 0, 1, 2, 3]
    assert struct.unpack_from(">7i", data, 40) == (0, 5, 4, 0, 0, 0, 0)


def test_seconds_by_hand(by_id: dict[str, Case]) -> None:
    data = only_file(by_id["IDX-PUT-2/truncated"])
    diffs = [struct.unpack_from(">i", data, 40 + 28 + 20 * entry + 12)[0] for entry in range(1, 10)]
    assert diffs == [0, 0, 0, 0, 0, 1, 1, 1, 2]


def test_refused_geometry_by_hand(by_id: dict[str, Case]) -> None:
    case = by_id["IDX-FILE-3/negative-by-slots"]
    assert 40 + 4 * (1 << 29) + 20 * 12 >= 1 << 31
    assert "rejected" in case["expected"]["results"][0]
    assert only_file(case) == b""


# --- the whole store: on the reference ----------------------------------------------------------------


class OnReference:
    """Runs the operations of a store vector on the reference's classes; files and sleeps are its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.queue: reference.ConsumeQueue | None = None
        self.service: reference.IndexService | None = None
        self.opened: list[reference.ConsumeQueue | reference.IndexService] = []
        self.names = itertools.count(1)

    def run(self, ops: list[Op]) -> list[dict[str, Any]]:
        try:
            return [self._result(op) for op in ops]
        finally:
            for opened in self.opened:
                opened.close()

    def _result(self, op: Op) -> dict[str, Any]:
        family, _, name = op["op"].partition(".")
        try:
            if family == "queue" and name != "open":
                return self._queue(name, op)
            if family == "service" and name != "open":
                return self._service(name, op)
            result: dict[str, Any] = getattr(self, f"_{family}_{name}")(op)
        except (reference.JavaError, FileNotFoundError) as error:
            return {"rejected": str(error)}
        return result

    def _tags_code(self, op: Op) -> dict[str, Any]:
        tags = op.get("tags")
        if "tags_utf16" in op:
            tags = bytes.fromhex(op["tags_utf16"]).decode("utf-16-be", "surrogatepass")
        return {"tags_code": str(reference.tags_code(tags))}

    def _queue_open(self, op: Op) -> dict[str, Any]:
        self.queue = None
        queue = reference.ConsumeQueue(
            self.directory / "consumequeue",
            op["topic"],
            op["queue_id"],
            reference.queue_file_size(op["file_size"]),
        )
        self.opened.append(queue)
        if op["load"] and not queue.load():
            return {"rejected": "load returned false"}
        self.queue = queue
        return {}

    def _bounds(self, queue: reference.ConsumeQueue) -> dict[str, Any]:
        bounds = queue.bounds()
        return {name: str(getattr(bounds, name)) for name in ("min", "max", "max_physic_offset")}

    def _queue(self, name: str, op: Op) -> dict[str, Any]:
        queue = self.queue
        if queue is None:
            return {"rejected": "no queue is open"}
        if name == "put":
            offset, code, place = (int(op[field]) for field in ("offset", "tags_code", "cq_offset"))
            return {"put": queue.put(offset, op["size"], code, place)}
        if name == "get":
            unit = queue.get(int(op["cq_offset"]))
            if unit is None:
                return {"unit": None}
            return {
                "unit": {
                    "offset": str(unit.phy_offset),
                    "size": unit.size,
                    "tags_code": str(unit.tags_code),
                }
            }
        if name == "last_offset":
            return {"last_offset": str(queue.last_offset())}
        deleted: dict[str, Any] = {}
        if name == "recover":
            queue.recover()
        elif name == "truncate":
            queue.truncate(int(op["phy_offset"]))
        elif name == "correct_min":
            queue.correct_min(int(op["phy_min_offset"]))
        elif name == "delete_expired":
            deleted = {"deleted": queue.delete_expired(int(op["phy_offset"]))}
        return deleted | self._bounds(queue)

    def _service_open(self, op: Op) -> dict[str, Any]:
        checkpoint = reference.StoreCheckpoint(index_msg_timestamp=int(op["index_msg_timestamp"]))
        self.service = reference.IndexService(
            self.directory / "index",
            op["hash_slot_num"],
            op["index_num"],
            new_name=lambda: f"99990101{next(self.names):09}",
            checkpoint=checkpoint,
        )
        self.opened.append(self.service)
        self.service.load(last_exit_ok=op["last_exit_ok"])
        return {"files": len(self.service.files)}

    def _service(self, name: str, op: Op) -> dict[str, Any]:
        service = self.service
        if service is None:
            return {"rejected": "no service is open"}
        if name == "build":
            request = reference.DispatchRequest(
                topic=op["topic"],
                keys=op["keys"],
                uniq_key=op["uniq_key"],
                commit_log_offset=int(op["commit_log_offset"]),
                store_timestamp=int(op["store_timestamp"]),
                sys_flag=op["sys_flag"],
            )
            service.build(request)
            service.settle()
            return {}
        if name == "query":
            found = service.query(op["topic"], op["key"], op["max_num"], int(op["begin"]), int(op["end"]))
            return {
                "offsets": [str(offset) for offset in found.offsets],
                "last_update_timestamp": str(found.last_update_timestamp),
                "last_update_phy_offset": str(found.last_update_phy_offset),
            }
        if name == "settle":
            return {"index_msg_timestamp": str(service.settle())}
        service.delete_expired(int(op["offset"]))
        return {"files": len(service.files)}

    def _log_dispatch(self, op: Op) -> dict[str, Any]:
        data = (self.directory / op["file"]).read_bytes()
        wide = ("commit_log_offset", "tags_code", "store_timestamp", "consume_queue_offset")
        plain = ("topic", "queue_id", "msg_size", "keys", "uniq_key", "sys_flag", "success")
        return {
            "requests": [
                {name: getattr(request, name) for name in plain}
                | {name: str(getattr(request, name)) for name in wide}
                for request in reference.dispatch_requests(
                    data, check_crc=op["check_crc"], read_body=op.get("read_body", True)
                )
            ]
        }

    def _checkpoint_read(self, _op: Op) -> dict[str, Any]:
        times = reference.read_checkpoint(self.directory / "checkpoint")
        return {
            name: str(getattr(times, name))
            for name in ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")
        }

    def _checkpoint_write(self, op: Op) -> dict[str, Any]:
        path = self.directory / "checkpoint"
        reference.read_checkpoint(path)
        names = ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")
        times = reference.Checkpoint(*(int(op[name]) for name in names))
        reference.write_checkpoint(path, times)
        return {name: str(getattr(times, name)) for name in names}


def normal(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results without the reasons of what was rejected."""
    return [{"rejected": ""} if "rejected" in result else result for result in results]


def files_left(directory: Path, laid: set[str]) -> dict[str, bytes]:
    """The files of a directory; those that were named by the clock are under `index/new-1` and so on."""
    left: dict[str, bytes] = {}
    new = itertools.count(1)
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            name = path.relative_to(directory).as_posix()
            if name not in laid and re.fullmatch(r"index/\d{17}", name):
                name = f"index/new-{next(new)}"
            left[name] = path.read_bytes()
    return left


def reference_disagrees(directory: Path, *stems: str) -> list[str]:
    """Ids of the vectors in these files on which the reference gives other results or leaves other bytes."""
    found: list[str] = []
    cases = [case for stem in stems for case in json.loads((STORE / f"{stem}.json").read_text("utf-8"))]
    assert len(cases) > 1
    for number, case in enumerate(cases):
        place = directory / str(number)
        place.mkdir()
        for name, file in case["files"].items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(unpack(file))
        results = OnReference(place).run(case["ops"])
        expected = {name: unpack(file) for name, file in case["expected"]["files"].items()}
        if (normal(results), files_left(place, set(case["files"]))) != (
            normal(case["expected"]["results"]),
            expected,
        ):
            found.append(case["id"])
    return found


def test_queue_vectors(tmp_path: Path) -> None:
    """CQ: tags codes and consume queues."""
    assert reference_disagrees(tmp_path, "tags", "queue_units", "queue_puts", "queue_restarts") == []


def test_service_vectors(tmp_path: Path) -> None:
    """IDX-SVC: files, builds, queries, expiry and flush of the index service."""
    assert reference_disagrees(tmp_path, "service_files", "service_queries") == []


def test_dispatch_vectors(tmp_path: Path) -> None:
    """LOG, CQ-TAGS-2, UTF8: the requests of commit logs."""
    assert reference_disagrees(tmp_path, "dispatch") == []


def test_checkpoint_vectors(tmp_path: Path) -> None:
    """CKP."""
    assert reference_disagrees(tmp_path, "checkpoint") == []


# --- the whole store: form and coverage ---------------------------------------------------------------


def test_store_cases_follow_the_schema(store_cases: list[Case]) -> None:
    schema = json.loads((PACKAGE / "case.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    found = [(case["id"], error.message) for case in store_cases for error in validator.iter_errors(case)]
    assert found == []


def test_store_ids(cases: list[Case], store_cases: list[Case]) -> None:
    """Unique over all vectors, named after their first clause, and of the real jar."""
    ids = Counter(case["id"] for case in [*cases, *store_cases])
    assert [name for name, count in ids.items() if count > 1] == []
    assert [case["id"] for case in store_cases if not case["id"].startswith(f"{case['clauses'][0]}/")] == []
    assert {case["producer"] for case in store_cases} == {"rocketmq-store 4.9.3"}


def test_store_clauses_and_vectors_cover_each_other(store_cases: list[Case]) -> None:
    """Each clause of the store whose evidence is a case has two vectors; each vector's clauses can be broken."""
    directed = Counter(case["clauses"][0] for case in store_cases)
    known = clauses()
    beyond = ("IDX-SVC-", "CQ-", "LOG-", "UTF8-", "CKP-")
    wanted = [name for name, clause in known.items() if name.startswith(beyond) and clause.evidence == "case"]
    assert len(wanted) > 70
    assert [name for name in wanted if directed[name] < 2] == []
    named = {clause for case in store_cases for clause in case["clauses"]}
    assert named - set(known) == set()
    assert [name for name in named if known[name].level == "UNSPECIFIED"] == []
    assert [name for name, count in directed.items() if count < 2] == []


def test_truncation_to_pre_blank_units_by_hand(store_cases: list[Case]) -> None:
    """CQ-TRUNC-5: the end is 0 + 2147483647, and only what ends behind that is written."""
    (case,) = (case for case in store_cases if case["id"] == "CQ-TRUNC-5/puts-are-skipped")
    ends = [int(result["max_physic_offset"]) for result in case["expected"]["results"] if "min" in result]
    assert ends == [2147483647, 2147483647, 2147483647, 2147483648]
    pre_blank = bytes(8) + b"\x7f\xff\xff\xff" + bytes(8)
    unit = struct.pack(">qiq", 2147483547, 101, 0)
    assert only_file(case) == pre_blank * 2 + unit + bytes(40)


# --- freshness ----------------------------------------------------------------------------------------


@pytest.mark.java
def test_the_real_jar_says_the_same(maven: str) -> None:
    run = subprocess.run(
        [sys.executable, GENERATOR / "make.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_comparison_sees_a_difference(cases: list[Case]) -> None:
    sys.path.insert(0, str(GENERATOR.parents[1]))
    try:
        from generator.vectors.writing import differing_ids
    finally:
        sys.path.pop(0)
    some = [case for case in cases if case["expected"]["files"]][:3]
    other = copy.deepcopy(some)
    assert differing_ids(some, other) == []
    for file in other[1]["expected"]["files"].values():
        data = unpack(file)
        file["zstd_base64"] = base64.b64encode(zstd.compress(data, 1)).decode()
    assert differing_ids(some, other) == []
    other[1]["expected"]["results"][0] = {"rejected": "x"}
    assert differing_ids(some, other) == [some[1]["id"]]
    assert differing_ids(some, some[1:]) == [some[0]["id"]]


def test_keys_of_a_wanted_hash() -> None:
    sys.path.insert(0, str(GENERATOR.parents[1]))
    try:
        from generator.vectors.building import key_of
    finally:
        sys.path.pop(0)
    for wanted in (0, 1, -1, 97, (1 << 31) - 1, -(1 << 31), 123_456_789, -10_606_476):
        code = 0
        for unit in key_of(wanted):
            code = (31 * code + ord(unit)) % (1 << 32)
        assert code == wanted % (1 << 32)
