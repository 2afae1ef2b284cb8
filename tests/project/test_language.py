"""Pages and help texts are in plain English, by the rules of CONTRIBUTING.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = ("audit.md",)  # its wording is the engine's
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED),
    *(
        page
        for room in ("cli", "columnar", "conformance", "golden", "reference", "spark", "spec")
        for kind in ("*.py", "*.md", "*.ksy")
        for page in sorted((ROOT / room).rglob(kind))
        if not {"_generated", "node_modules", "target"} & set(page.parts)
    ),
]
REJECTED = re.compile(
    r"\b(sa(y|id) so|says so|so many|held against|made again|once more|say one of|is there already|tells? apart"
    r"|how surely|(is|are) told|as (it|they) lies?|lies? (in|at|there|behind|before|after|outside|inside)"
    r"|looked for any more)\b"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_uses_none_of_the_rejected_phrases(page: Path) -> None:
    text = re.sub(r"\s+", " ", page.read_text("utf-8"))
    found = [text[max(0, match.start() - 40) : match.end() + 20] for match in REJECTED.finditer(text)]
    assert found == []
