"""The vectors: their form, what they cover, some worked out by hand, and that the real jar still says the same."""

import base64
import copy
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import rocket_golden
from rocket_conformance.cases import directed_cases
from rocket_golden import zstd
from rocket_spec.clauses import clauses

PACKAGE = Path(rocket_golden.__file__).parent
INDEX = ("HASH", "FILE", "HDR", "SLOT", "ENT", "PUT", "FULL", "SEL", "TIME", "LOAD", "FLUSH")
GENERATOR = Path(__file__).parents[2] / "golden" / "generator" / "vectors"
Case = dict[str, Any]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """All vectors; that the reference gives the same is shown in `tests/conformance/test_cases.py`."""
    return [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]


def unpack(file: dict[str, str]) -> bytes:
    return zstd.decompress(base64.b64decode(file["zstd_base64"]))


# --- form ---------------------------------------------------------------------------------------------


def test_cases_follow_the_schema(cases: list[Case]) -> None:
    schema = json.loads((PACKAGE / "case.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    seen: set[str] = set()

    def new(values: list[Case]) -> list[Case]:
        """Features that no case before had; one at least."""
        found = [value for value in values if json.dumps(value) not in seen]
        seen.update(map(json.dumps, found))
        return found or values[:1]

    some = (
        case
        | {
            "ops": new(case["ops"]),
            "expected": case["expected"] | {"results": new(case["expected"]["results"])},
        }
        for case in cases
    )
    assert [(case["id"], error.message) for case in some for error in validator.iter_errors(case)] == []


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


# --- coverage -----------------------------------------------------------------------------------------


def test_clauses_and_directed_vectors_cover_each_other(cases: list[Case]) -> None:
    """Each clause whose evidence is a case has two vectors, but those that take a whole store or the default size.

    No vector can hold a name that the clock gave: what shows IDX-SVC-4 are cases of the suite.
    """
    directed = Counter(case["clauses"][0] for case in cases if case["seed"] is None)
    known = clauses()
    families = (*(f"IDX-{name}-" for name in INDEX), "IDX-SVC-", "CQ-", "LOG-", "UTF8-", "CKP-")
    wanted = [
        name for name, clause in known.items() if name.startswith(families) and clause.evidence == "case"
    ]
    assert len(wanted) > 110
    assert [name for name in wanted if directed[name] < 2] == ["IDX-SVC-4"]
    assert sum(case.clauses[0] == "IDX-SVC-4" for case in directed_cases()) >= 2
    named = {clause for case in cases for clause in case["clauses"]}
    assert named - set(known) == set()
    assert [name for name in named if known[name].level == "UNSPECIFIED"] == []


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
