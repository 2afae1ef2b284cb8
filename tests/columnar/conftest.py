"""Fixtures of several rooms of the engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rocket_columnar import fast
from rocket_columnar.log import Walk


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def _form(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each of the two forms in which logs are read."""
    with fast.forced(compiled=request.param):
        yield


@pytest.fixture
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are allowed, whatever other tests decoded in the same minute."""
    monkeypatch.setattr(Walk, "patience", type(Walk.patience)())


@pytest.fixture
def _broker_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process holds the lock of each store with an abort file: writers in this process cannot be seen to."""

    def holder(store: Path) -> int:
        return int((store / "abort").exists())

    monkeypatch.setattr("rocket_columnar.facts.files.lock_holder", holder)
