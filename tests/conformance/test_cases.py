"""The cases themselves: where they come from, that they are whole, that the reference agrees with the jar."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import rocket_golden
from changed_adapter import FILE, open_index
from rocket_conformance.cases import Case, case_from_json, case_to_json, directed_cases
from rocket_conformance.comparison import expect, specified
from rocket_conformance.judging import disagreement
from rocket_conformance.properties import MOST_OPERATIONS, MOVES, PROPERTIES, Property, examples, triples_in
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.reference_adapter import UnspecifiedOperationError
from rocket_conformance.running import Options
from rocket_spec.clauses import clauses


def test_ids_are_clause_and_slug_and_occur_once() -> None:
    names = [case.id for case in directed_cases()] + [item.id for item in PROPERTIES]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    for name in names:
        assert re.fullmatch(r"[A-Z]+[0-9]*(-[A-Z]+)*-[1-9][0-9]*/[a-z0-9]+(-[a-z0-9]+)*", name), name


def test_cases_are_named_after_their_first_clause_and_know_their_clauses() -> None:
    known = clauses()
    everything: list[Case | Property] = [*directed_cases(), *PROPERTIES]
    for item in everything:
        assert item.clauses[0] == item.id.partition("/")[0]
        assert all(clause in known for clause in item.clauses), item.id


def test_the_reference_agrees_with_the_real_jar_on_every_vector(tmp_path: Path) -> None:
    vectors = [case for case in directed_cases() if case.expected is not None]
    golden = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    assert {vector["id"] for vector in golden} == {case.id for case in vectors}
    wrong = {case.id: disagreement(case, expect(case, tmp_path / "case")) for case in vectors}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize("item", PROPERTIES, ids=lambda item: item.id)
def test_lists_are_the_same_for_the_same_seed(item: Property) -> None:
    first = list(examples(item, seed=7, count=5))
    assert first == list(examples(item, seed=7, count=5))
    assert first != list(examples(item, seed=8, count=5))


@pytest.mark.parametrize("item", PROPERTIES, ids=lambda item: item.id)
def test_lists_use_what_the_property_declares(item: Property) -> None:
    for case in examples(item, seed=3, count=40):
        assert 0 < len(case.ops) <= MOST_OPERATIONS
        assert case.op_names <= item.ops
        assert item.ops <= OPERATIONS.keys()
        lone = any("key_utf16" in op for op in case.ops)
        assert not lone or "lone_surrogates" in item.features


@pytest.mark.parametrize(("family", "name"), [("index", "IDX-PUT-6"), ("queue", "CQ-PUT-3")])
def test_the_lists_of_a_default_run_have_every_triple_of_moves(
    family: str, name: str, tmp_path: Path
) -> None:
    [item] = [item for item in PROPERTIES if item.id == f"{name}/prop-triples"]
    seen: set[tuple[str, ...]] = set()
    for drawn in examples(item, seed=0, count=Options().examples):
        case, _ = specified(drawn, tmp_path / "case")
        seen.update(triples_in(family, case.ops))
    assert seen == set(product(MOVES[family], repeat=3))


def test_moves_are_told_by_slot_key_and_time() -> None:
    keys = (("a", 5), ("b", 5), ("c", 4), ("a", 9))  # of two slots: 97 and 99 share one
    puts = [
        {"op": "index.put", "key": key, "phy_offset": "0", "store_timestamp": str(at)} for key, at in keys
    ]
    ops = [open_index(2, 9), *puts, {"op": "index.full"}, {"op": "index.flush"}]
    assert list(triples_in("index", ops)) == [
        ("new slot, same time", "same slot, earlier", "same key, later"),
        ("same slot, earlier", "same key, later", "flush"),
    ]


def test_an_operation_on_which_4_9_3_never_ends_is_not_sent(tmp_path: Path) -> None:
    from struct import pack

    from rocket_conformance.files import image_of

    # Two entries that lead to each other; neither is of the key, so no maximum ends the walk.
    header = pack(">qqqqii", 1000, 1000, 0, 0, 1, 3)
    entries = bytes(20) + pack(">iqii", 5, 0, 0, 2) + pack(">iqii", 5, 0, 0, 1)
    opening = open_index(1, 3, load=True)
    select = {"op": "index.select", "key": "a", "max_num": 64, "begin": "0", "end": "9223372036854775807"}
    full = {"op": "index.full"}
    case = Case(
        id="IDX-SEL-6/x",
        clauses=("IDX-SEL-6",),
        ops=(opening, select, full),
        files={FILE: image_of(header + pack(">i", 2) + entries)},
    )
    with pytest.raises(UnspecifiedOperationError):
        expect(case, tmp_path / "case")
    sent, expected = specified(case, tmp_path / "case")
    assert sent.ops == (opening, full)
    assert expected.results == ({}, {"full": True})


def test_a_case_comes_back_from_its_json(tmp_path: Path) -> None:
    case = next(case for case in directed_cases() if case.files)
    expected = expect(case, tmp_path / "case")
    again = case_from_json(case_to_json(case, expected))
    assert again == replace(case, expected=expected, files=dict(case.files))


def test_a_run_of_one_case_makes_few_others() -> None:
    code = (
        "import gc; from rocket_conformance.cases import Case; from rocket_conformance.planning import all_ids, plan; "
        "plan(select=['IDX-HDR-4/chain']); "
        "print(len(all_ids()), sum(isinstance(item, Case) for item in gc.get_objects()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    ids, made = map(int, shown.split())
    assert ids > 1_000
    assert made < ids / 10
