"""The page on `query` shows what the verb prints."""

import re
import shlex
from pathlib import Path

import pytest
import rocket_golden
import rocketspec
from verb_run import Run

VERB = "query"

PAGE = (Path(__file__).parents[2] / "docs" / "query.md").read_text("utf-8")
SHOWN = re.findall(r"^```sh\nrocketspec query (.*?)\n```\n\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rocket_golden.open_store("mixed", tmp_path)
    monkeypatch.chdir(tmp_path)


def test_there_are_three_examples() -> None:
    assert len(SHOWN) == PAGE.count("```sh") == 3


@pytest.mark.parametrize(("arguments", "output"), SHOWN, ids=["broker", "unique-key", "explain"])
def test_an_example(run: Run, arguments: str, output: str) -> None:
    _, out, err = run(*shlex.split(arguments))
    assert not err
    printed = [line.rstrip() for line in out.splitlines()]
    for line in output.splitlines():
        assert line in printed


def test_the_example_in_python() -> None:
    calls = re.findall(r"`(rocketspec\.query\(.*?\))`", PAGE)
    assert len(calls) == 1
    answer = eval(calls[0], {"rocketspec": rocketspec})  # noqa: S307 - the page's own line
    assert len(answer.messages) == 3
