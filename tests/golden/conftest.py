"""Golden stores, unpacked once a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rocket_golden import open_store, stores

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def golden_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function from a golden store's name to the directory that it is unpacked in."""
    directory = tmp_path_factory.mktemp("golden")
    unpacked: dict[str, Path] = {}

    def unpack(name: str) -> Path:
        if name not in unpacked:
            unpacked[name] = open_store(name, directory)
        return unpacked[name]

    return unpack


@pytest.fixture(params=[*stores(log=None), *stores(unclean=True, log=None)])
def store_name(request: pytest.FixtureRequest) -> str:
    """Each golden store's name in turn, unclean ones too."""
    return str(request.param)
