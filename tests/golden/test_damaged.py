"""The damaged variants: fresh, small, and damaged where they say and nowhere else."""

import dataclasses
import json
import runpy
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import rocket_golden
from finding_codes import FINDING_CODES, UNDAMAGED
from rocket_golden import Damaged, DamagedError, damaged, open_damaged, stores
from store_bytes import contents

PACKAGE = Path(rocket_golden.__file__).parent
MAKE = Path(__file__).parents[2] / "golden" / "generator" / "damage" / "make.py"


@pytest.fixture(params=damaged(), ids=lambda variant: variant.name)
def variant(request: pytest.FixtureRequest) -> Damaged:
    found: Damaged = request.param
    return found


def test_every_kind_of_damage_is_there_twice() -> None:
    counts = Counter(variant.damage for variant in damaged())
    assert set(counts) == set(FINDING_CODES) - UNDAMAGED
    assert min(counts.values()) >= 2
    assert {variant.store for variant in damaged()} <= set(stores(log=None))


def test_the_recorded_variants_are_those_that_the_generator_makes() -> None:
    kept = (PACKAGE / "damaged.json").read_text("utf-8")
    assert runpy.run_path(str(MAKE))["text"](json.loads(kept)["variants"]) == kept


def test_only_what_is_named_is_damaged(
    variant: Damaged, golden_store: Callable[[str], Path], tmp_path: Path
) -> None:
    before = contents(golden_store(variant.store))
    after = contents(open_damaged(variant.name, tmp_path))
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {name for patch in variant.patches for name in (patch.file, patch.to) if name}
    if variant.damage != "index.ahead_of_log":  # the index is whole, and the log it points to is not
        assert variant.file in changed
    if variant.file in before and variant.file in after and variant.file in changed:
        old, new = before[variant.file], after[variant.file]
        assert variant.offset is not None
        assert old[: variant.offset] == new[: variant.offset]
        assert old != new


def test_a_patch_of_other_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (variant,) = (found for found in damaged() if found.name == "mixed-log-crc")
    (patch,) = variant.patches
    wrong = dataclasses.replace(variant, patches=(dataclasses.replace(patch, before=patch.after),))
    monkeypatch.setattr("rocket_golden._damaged.damaged", lambda: (wrong,))
    with pytest.raises(DamagedError, match=f"at {patch.offset}"):
        open_damaged(wrong.name, tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"rocketspec_damaged": 1, "variants": {"a": {}}}'])
def test_a_list_that_is_none_is_said_to_be_none(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "damaged.json").write_text(text, "utf-8")
    monkeypatch.setattr("rocket_golden._damaged.ROOT", tmp_path)
    with pytest.raises(DamagedError, match=r"^damaged\.json: found "):
        damaged()
