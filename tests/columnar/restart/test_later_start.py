"""Starts of 5.x through the verb, and the profiles that name them; `cases/later-starts.md` has the starts."""

from pathlib import Path

import pytest
from rocket_spec.profiles import differences
from store_cases import Case
from verb_run import runner


def later(folder: Path, *steps: str) -> Path:
    case = Case(folder)
    case.run("\n".join(("unpack columnar/report/store-5.5.0.zip", *steps)))
    return case.root


def test_a_start_that_depends_on_the_release_asks_for_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = later(tmp_path, "split 4096", "remove consumequeue")
    run = runner("audit", capfd, monkeypatch)
    asked = run(store, "--restart")
    assert asked.code == 2
    assert "name one with --rocketmq-profile" in asked.err.replace("\n", " ")
    named = run(store, "--restart", "--rocketmq-profile", "5.3.1")
    assert "dispatch starts at 35,546" in named.out


def test_each_start_of_the_profiles_has_a_case() -> None:
    """A value that no case knows is a start that nothing predicts."""
    values = {value for found in differences() for value in found.start.values()}
    assert values == {"nothing", "after_queues", "queue_offset", 10}


def test_a_named_release_of_5_x_is_a_sign(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = later(tmp_path, "remove config", "remove index"), runner("audit", capfd, monkeypatch)
    ended = run(store, "--quick", "--geometry", "61,200", "--rocketmq-profile", "5.3.1")
    assert "written by 5.x: --rocketmq-profile 5.3.1" in ended.err.replace("\n", " ")
    assert "has no profile" in run(store, "--rocketmq-profile", "4.2.0").err
