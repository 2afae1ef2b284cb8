"""The replay files of the findings in docs: each a divergence, and a pass on a right implementation."""

import json
from pathlib import Path

import pytest
from rocket_columnar.adapter import Adapter
from rocket_conformance.counterexamples import read_replay
from rocket_conformance.planning import Planned
from rocket_conformance.running import Options, run_planned
from rocket_conformance.schema import problems
from rocket_conformance.transport import open_handler

REPLAYS = sorted((Path(__file__).parents[2] / "docs").glob("findings-*/*.json"))


def test_there_are_some() -> None:
    assert len(REPLAYS) == 5


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_a_replay_file_passes_on_a_right_implementation(path: Path) -> None:
    document = json.loads(path.read_bytes())
    assert problems("case", document) == []
    assert document["divergence"]
    with open_handler(Adapter()) as transport:
        line, _ = run_planned(transport, Planned(read_replay(path)), Options())
    assert line.verdict == "pass"
