"""Verbs in this process, and the golden store that most of these tests read."""

from pathlib import Path

import pytest
import rocket_golden
from verb_run import Run, Verb, any_verb, runner


@pytest.fixture
def verb(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Runs any verb."""
    return any_verb(capfd, monkeypatch)


@pytest.fixture
def run(
    request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Runs the verb that the module names as VERB."""
    return runner(request.module.VERB, capfd, monkeypatch)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A copy of the golden store `mixed`."""
    return rocket_golden.open_store("mixed", tmp_path)


@pytest.fixture
def store(mixed: Path) -> Path:
    """The store that most verbs are tried on; modules with another one have a fixture of their own."""
    return mixed
