"""The files and folders that CONTRIBUTING.md and the rooms' README files name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "columnar" / "rocket_columnar"
MADE = (".venv", "out/site")  # folders that commands make

PAGES = [
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(
        f"{room}/README.md"
        for room in ("spec", "columnar", "conformance", "tests", "tools", "website", "release")
    ),
]
SECTIONS = [
    f"{page}: {section}"
    for page in PAGES
    for section in re.split(r"^## ", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE)
]
NAME = re.compile(r"`([\w.*-]+/[\w./*-]*|[\w-]+\.(?:py|md|json|toml))`")


def missing(section: str, room: str = "") -> list[str]:
    """The names in a section that nothing has: paths in the repository, packages of the engine, or files beside or in what was named before.

    `VERB` stands for any name.
    """
    folders, wrong = [ROOT, ROOT / room], []
    for name in NAME.findall(section):
        if name in MADE:
            continue
        pattern = name.rstrip("/").replace("VERB", "*")
        found = [path for folder in (*reversed(folders), ENGINE) for path in folder.glob(pattern)]
        folders += [folder for path in found[:1] for folder in (path.parent, path)]
        if not found:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_what_a_section_names_exists(section: str) -> None:
    assert missing(section, section.partition("/")[0] if "/README.md: " in section else "") == []
