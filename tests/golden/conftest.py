"""Golden stores by name."""

import pytest
from rocket_golden import stores


@pytest.fixture(params=[*stores(log=None), *stores(unclean=True, log=None)])
def store_name(request: pytest.FixtureRequest) -> str:
    """Each golden store's name in turn, unclean ones too."""
    return str(request.param)
