"""Every command in README and docs that is shown with its output, run page by page; and no page without such a test."""

import re
from pathlib import Path

import pytest
import rocket_golden
from transcript import run_page
from verb_run import any_verb

ROOT = Path(__file__).parents[2]
STORES: dict[str, tuple[str, ...]] = {
    "README.md": (),
    "docs/architecture.md": (),
    "docs/reading-a-store.md": ("replica", "replica-late-slave"),
    "docs/query.md": ("mixed",),
    "docs/tutorial.md": (),
}
"""Pages that are run here, with the golden stores that they find in their directory."""

ELSEWHERE = {
    "docs/adapters.md": "tests/cli/transcripts/conform.md",
    "docs/audit.md": "tests/cli/transcripts/audit-page.md",
    "docs/broken-stores.md": "tests/cli/test_broken_stores.py",
    "docs/judge-a-store.md": "tests/acceptance/test_workload.py",
    "docs/licences.md": "tests/project/test_facts_on_pages.py",
    "docs/python.md": "tests/cli/transcripts/readme.md",
    "docs/recovery.md": "tests/cli/transcripts/recovery.md",
    "docs/spark-sources.md": "tests/spark/test_pages.py",
    "docs/spark.md": "tests/spark/test_pages.py",
}
"""Pages whose commands another test runs."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.soak] if page == "docs/tutorial.md" else []) for page in STORES],
)
def test_a_page_shows_what_its_commands_print(
    page: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of the README is a process of its own."""
    for store in STORES[page]:
        rocket_golden.open_store(store, tmp_path)
    monkeypatch.chdir(tmp_path)
    verb = None if page == "README.md" else any_verb(capfd, monkeypatch, width=100)
    run_page((ROOT / page).read_text("utf-8"), tmp_path, verb=verb)


def test_every_page_with_commands_is_run() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    shown = {
        page.relative_to(ROOT).as_posix()
        for page in pages
        if re.search(r"^(?:\$ )?rocketspec \w", page.read_text("utf-8"), re.MULTILINE)
    }
    assert shown - set(STORES) - set(ELSEWHERE) == set()
    assert [path for path in ELSEWHERE.values() if not (ROOT / path).is_file()] == []
