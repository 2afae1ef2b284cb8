"""Damage planted in golden stores: found, named and placed, and nothing else said that does not follow from it.

Recall is the share of planted damage that is named and placed exactly; precision the share of findings that the damage
itself or its stated consequences explain. One place of each kind here, in one of the stores; in a soak many places of each kind in
each store, whose figures are kept in `figures.json` and told in `docs/audit.md`.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from generator.damage.catalogue import KINDS
from generator.damage.store import DamagedCopy, Planted, applies, copy_of
from rocket_columnar.audit import audit
from rocket_golden import open_store

from tools.audit_figures import FIGURES, SEEDS, STORES, Figures, inputs, judge

Kind = Callable[[DamagedCopy], Planted]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: open_store(name, tmp_path_factory.mktemp(name)) for name in STORES}


def chosen() -> Iterator[tuple[Kind, str]]:
    """Each kind with one of the stores that it applies to, in turns."""
    for number, kind in enumerate(KINDS):
        names = [name for name in STORES if applies(kind, name)]
        yield kind, names[number % len(names)]


@pytest.mark.parametrize(
    ("kind", "name"), list(chosen()), ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_damage_is_named_and_placed(kind: Kind, name: str, pristine: dict[str, Path], tmp_path: Path) -> None:
    store = copy_of(pristine[name], tmp_path / "store", name, f"make test {kind.__name__}")
    planted = kind(store)
    found = list(audit(store.root, planted.level))
    verdict = judge(planted, found)
    assert verdict.found, (planted, found)
    assert not verdict.strange


def test_the_figures_kept_are_of_this_damage() -> None:
    """`pytest --soak -k figures` measures them again."""
    assert FIGURES.read_text("utf-8") == Figures.read().text()
    assert Figures.read().inputs == inputs()


@pytest.mark.soak
def test_figures_at_many_places(pristine: dict[str, Path], tmp_path: Path) -> None:
    figures = Figures(inputs())
    for name in STORES:
        for kind in KINDS:
            for seed in range(SEEDS if applies(kind, name) else 0):
                store = copy_of(pristine[name], tmp_path / "store", name, f"soak {seed} {kind.__name__}")
                planted = kind(store)
                figures.add(kind.__name__, judge(planted, list(audit(store.root, planted.level))))
                shutil.rmtree(tmp_path / "store")
    FIGURES.write_text(figures.text(), "utf-8")
    assert figures.recall == 1
    assert figures.precision >= 0.999
