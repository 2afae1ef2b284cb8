"""The transcripts of the verbs: commands, what they print, and exit codes, in `transcripts/VERB.md`."""

from pathlib import Path

import pytest
from transcript import cases, run_page, search_path
from verb_run import Verb

CASES = [
    pytest.param(text, id=f"{path.stem}: {title}")
    for path in sorted((Path(__file__).parent / "transcripts").glob("*.md"))
    for title, text in cases(path.read_text("utf-8")).items()
]


@pytest.mark.parametrize("text", CASES)
def test_a_transcript(text: str, verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", search_path())
    run_page(text, tmp_path, verb=verb)
