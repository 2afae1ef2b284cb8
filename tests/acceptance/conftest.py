"""A real broker, and the stores that it wrote, for each module that asks for them."""

from collections.abc import Iterator

import pytest
from real_broker import RealBroker
from written_store import CONFIG, Written, write_stores


@pytest.fixture(scope="module")
def broker(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealBroker]:
    del maven  # asked for so that its absence skips
    with RealBroker(tmp_path_factory.mktemp("broker"), java, CONFIG) as site:
        yield site


@pytest.fixture(scope="module")
def written(broker: RealBroker, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write_stores(broker, tmp_path_factory.mktemp("written"))
