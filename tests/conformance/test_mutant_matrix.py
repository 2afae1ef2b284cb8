"""MUTANTS.md and the README's figures are those of the mutants, cases and properties that are there."""

from pathlib import Path

import pytest
from rocket_conformance.misreadings import MUTANTS
from rocket_conformance.mutants import CATALOGUE, figures, hunt

from tools.mutant_matrix import inputs_digest, read_digest, read_score, render, row_of, with_figures

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MATRIX = (ROOT / "conformance" / "MUTANTS.md").read_text(encoding="utf-8")
AGAIN = "make it again: python -m tools.mutant_matrix"


def test_matrix_is_of_these_mutants_cases_and_properties() -> None:
    assert read_digest(MATRIX) == inputs_digest(), AGAIN


def test_matrix_has_a_line_for_each_and_no_survivor() -> None:
    tables = MATRIX.partition("Readings that come to the same")[0]
    named = [line.split(" | ")[0].removeprefix("| ") for line in tables.splitlines() if line.startswith("| ")]
    assert named == [
        "mutant",
        *(item.name for item in MUTANTS),
        "implementation",
        *(item.name for item in CATALOGUE[len(MUTANTS) :]),
    ]
    assert read_score(MATRIX) == (len(CATALOGUE), len(CATALOGUE))
    assert "survives" not in MATRIX


def test_readme_has_the_figures() -> None:
    assert with_figures(README, MATRIX) == README, f"{AGAIN} --figures"


def test_figures_in_words() -> None:
    coverage, score = figures(3, 4).splitlines()
    assert coverage.startswith("Clause coverage ")
    assert score == "Mutant score 3 of 4 (75%): wrong implementations that the suite notices."


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_every_mutant_dies_under_the_default_settings(seed: int) -> None:
    assert [item.name for item in CATALOGUE if not hunt(item, seed=seed).killed] == []


@pytest.mark.soak
def test_matrix_is_as_it_would_be_made() -> None:
    assert render([row_of(item) for item in CATALOGUE], inputs_digest()) == MATRIX, AGAIN
