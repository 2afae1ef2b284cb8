"""Wrong implementations: each dies, and a misread clause is named by that clause's own directed cases."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest
import rocket_reference
from rocket_conformance.misreadings import MUTANTS, Mutant
from rocket_conformance.mutants import CATALOGUE, IMPOSTORS, Impostor, hunt, own_cases
from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_handler
from rocket_spec.clauses import clauses
from verb_run import Verb

from tools.mutant_matrix import EQUIVALENT, Equivalent

Item = TypeVar("Item", Mutant, Impostor)


def each(items: tuple[Item, ...]) -> Callable[[Callable[..., None]], pytest.MarkDecorator]:
    return pytest.mark.parametrize("mutant", items, ids=lambda item: item.name)


@each(MUTANTS)
def test_mutant_dies_of_its_clauses_own_directed_cases(mutant: Mutant) -> None:
    """Alone; they come first in a run of the whole suite too, so it dies there of the same case."""
    outcome = hunt(mutant, among=own_cases(mutant.clause))
    assert outcome.killed, f"{outcome.cases} cases pass"
    assert outcome.verdict == "diverged", outcome.killed_by


@each(IMPOSTORS)
def test_impostor_dies(mutant: Impostor) -> None:
    outcome = hunt(mutant)
    expected = {
        "skips-all": "skipped",
        "supports-nothing": "unsupported",
        "declares-nothing": "not_applicable",
    }
    assert outcome.killed
    assert outcome.verdict == expected.get(mutant.name, "diverged")


def test_the_reference_itself_passes() -> None:
    """The messages of both sides follow the schemas."""
    with open_handler(ReferenceAdapter(), check_schema=True) as transport:
        report = run(transport, Options(examples=5))
    assert [line.id for line in report.cases if line.verdict != "pass"] == []
    assert report.exit_code == 0


# --- the catalogue ------------------------------------------------------------------------------------


def test_names_and_clauses() -> None:
    names = Counter(item.name for item in CATALOGUE)
    assert [name for name, count in names.items() if count > 1] == []
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    assert {mutant.clause for mutant in MUTANTS} <= set(clauses())


def test_each_must_clause_with_case_evidence_is_misread() -> None:
    misread = {mutant.clause for mutant in MUTANTS}
    wanted = [c.id for c in clauses().values() if (c.level, c.evidence) == ("MUST", "case")]
    assert [name for name in wanted if name not in misread] == []


def test_each_operation_is_misread() -> None:
    used: set[str] = set()
    for mutant in MUTANTS:
        for case in own_cases(mutant.clause):
            used |= case.ops
    assert OPERATIONS.keys() - used == set()


@pytest.mark.parametrize("item", EQUIVALENT, ids=lambda item: item.reading.replace(" ", "-"))
def test_a_reading_that_comes_to_the_same_passes_its_clauses_own_cases(item: Equivalent) -> None:
    same = Mutant(item.reading, item.clause, item.module, item.old, item.new)
    assert not hunt(same, among=own_cases(item.clause)).killed


# --- loading ------------------------------------------------------------------------------------------


def test_the_reference_stays_as_it_is() -> None:
    """Two mutants and the true one side by side; errors alone are shared."""
    one, other = (
        next(m for m in MUTANTS if m.name == name) for name in ("hash-factor-33", "sign-bit-cut-off")
    )
    key = "polygenelubricants"  # its hashCode is -2^31
    assert rocket_reference.key_hash(key) == 0
    assert {rocket_reference.key_hash("ab"), one.library().key_hash("ab")} == {31 * 97 + 98, 33 * 97 + 98}
    assert other.library().key_hash("ab") == 31 * 97 + 98
    assert other.library().IndexService is not rocket_reference.IndexService


def test_a_text_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"index_file: 'no such text' occurs 0 times"):
        replace(MUTANTS[0], old="no such text").library()


def test_one_that_survives_is_named_and_ends_with_1(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    unchanged = replace(MUTANTS[0], name="nothing-wrong", new=MUTANTS[0].old)
    monkeypatch.setattr("rocket_conformance.mutants.find", lambda *_: [unchanged])
    done = verb("mutants", "--alone", "own")
    assert done.code == 1
    assert done.out.splitlines() == [
        "IDX-HASH-1   nothing-wrong                                SURVIVES",
        "",
        "mutant score 0 of 1 (0 %)",
        "  survives: nothing-wrong (IDX-HASH-1)",
    ]
