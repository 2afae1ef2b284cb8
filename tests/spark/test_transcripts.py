"""The transcripts of the verbs on Spark, and the page on the verbs: commands, what they print, and exit codes."""

from pathlib import Path

import pytest
from transcript import cases, run_page, search_path
from verb_run import Run, any_verb

pytestmark = pytest.mark.spark

CASES = [
    pytest.param(text, id=f"{path.stem}: {title}")
    for path in sorted((Path(__file__).parent / "transcripts").glob("*.md"))
    for title, text in cases(path.read_text("utf-8")).items()
]


@pytest.mark.parametrize("text", CASES)
def test_a_transcript(
    text: str,
    verb_here: Run,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del verb_here  # has every verb run its tasks here
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", search_path())
    run_page(text, tmp_path, verb=any_verb(capfd, monkeypatch))
