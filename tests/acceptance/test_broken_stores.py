"""Broken stores, treated as the verbs advise: clients of the real broker get what the table states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from broken_stores import INCIDENTS, MEASURED, Incident
from incident_run import recorded, row_of
from incident_site import Site

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def site(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    del maven  # asked for so that its absence skips
    with Site(tmp_path_factory.mktemp("site"), java) as found:
        yield found


@pytest.mark.parametrize(
    "incident",
    [
        pytest.param(incident, id=incident.name, marks=[] if incident.name == MEASURED else pytest.mark.soak)
        for incident in INCIDENTS
    ],
)
def test_clients_get_what_the_table_states(incident: Incident, site: Site, tmp_path: Path) -> None:
    assert row_of(site, incident, tmp_path) == recorded()[incident.name]
