"""The real 4.9.3 as implementation under test passes; test_versions.py holds other releases."""

from __future__ import annotations

import pytest
from rocket_conformance.report import conclusion
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_jar

pytestmark = pytest.mark.java


@pytest.mark.usefixtures("maven")
def test_4_9_3_passes() -> None:
    with open_jar("4.9.3") as transport:
        report = run(transport, Options(seed=20))
    others = {line.detail for line in report.cases if line.verdict != "pass"}
    assert others == {f"not declared: {name}" for name in ("index.read", "queue.read", "log.read")}
    assert conclusion(report).startswith("conformant for index, service, queue, log, checkpoint (")
    assert {line.verdict for line in report.cases} == {"pass", "not_applicable"}
