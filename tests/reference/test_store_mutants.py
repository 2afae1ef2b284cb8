"""Misreadings of the clauses about stores, light queues and ext queues: what the real store did shows each of them."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import rocket_reference
from rocket_conformance.misreadings import Mutant
from rocket_reference import JavaError, JavaFatalError, UnspecifiedError

from tests.reference import test_restart_scripts as replay
from tools.replacements import Replacement, replacements

MISREADINGS = list(replacements(Path(__file__).parent / "misreadings.txt"))
FROM_THE_REFERENCE = (
    *("Checkpoint", "DispatchRequest", "MessageStore", "Reput", "StoreCheckpoint", "StoreConfig"),
    *("UnspecifiedError", "dispatch_request"),
)


def of(*, the_page: bool) -> pytest.MarkDecorator:
    found = [one for one in MISREADINGS if one.heading.endswith("SPEC.md") == the_page]
    return pytest.mark.parametrize("one", found, ids=lambda one: one.heading.partition(" | ")[0])


@of(the_page=False)
def test_a_script_shows_a_misreading(
    one: Replacement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, script, module = one.heading.split(" | ")
    library = Mutant(name, name.partition(",")[0], module, one.old, one.new).library()
    misread = {item: getattr(library, item) for item in FROM_THE_REFERENCE}
    monkeypatch.setattr(replay, "reference", SimpleNamespace(**(vars(rocket_reference) | misread)))
    life = replay.Life(tmp_path, replay.SCRIPTS[script])
    try:
        found = [life.run(step) for step in replay.SCRIPTS[script]["steps"]]
    except (UnspecifiedError, JavaError, JavaFatalError, ValueError, IndexError, OSError):
        return
    finally:
        if life.store is not None:
            life.store.close()
    assert found != replay.expected(script)


@of(the_page=True)
def test_a_script_shows_a_wrong_page(one: Replacement, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code blocks with one mistake each."""
    monkeypatch.setattr(replay.ByThePage, "changes", {one.old: one.new})
    script = one.heading.split(" | ")[1]
    assert not replay.as_answered(replay.ByThePage, replay.SCRIPTS[script], replay.ANSWERS[script])
