"""Names in pages and docstrings exist: clauses, modules, files, options, links and their anchors."""

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rocket_spec.clauses import clauses

ROOT: Final = Path(__file__).parents[2]
_LISTED: Final = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
_TRACKED: Final = [name for name in _LISTED.stdout.split() if (ROOT / name).is_file()]
PAGES: Final = [name for name in _TRACKED if name.endswith(".md")]
SOURCES: Final = [name for name in _TRACKED if name.endswith((".py", ".ksy", ".java", ".go", ".rs", ".mjs"))]
MADE_UP: Final = {"IDX-NONE", "IDX-PUT-77", "IDX-PUTS"}
"""Clauses of tests that must not exist."""

_CLAUSE: Final = re.compile(
    r"\b(?:IDX|CQ|LOG)-[A-Z]+(?:-\d+)?\b|\b(?:CKP|UTF8|CFG|STORE|QRY|DLG|BCQ|TIM|TIX)-\d+\b"
)
_LINK: Final = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
_QUOTED: Final = re.compile(r"`([^`\n]+)`")
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]")
_PARAMETER: Final = re.compile(r"^    (\w+): ", re.MULTILINE)
_PLACEHOLDER: Final = re.compile(r"\b(?!README)(?:[A-Z]+|MyCase)[./]")
FOREIGN: Final = {
    *("--spec", "--save-dev", "--omit-lockfile-registry-resolved", "--reference"),  # pipx, npm, chown
    *("--wait", "--inherit-path", "--no-compress", "--files"),  # Spark Connect, pex, spark-submit
    "--depp",  # a slip of the hand, in a transcript
}
"""Options of other programs that no code of ours calls."""

_FOLDERS: Final = tuple(sorted({name.partition("/")[0] + "/" for name in _TRACKED if "/" in name}))
_MODULE: Final = re.compile(r"(?:rocket_\w+|rocketspec|tools)(?:\.[a-z_]+)+")
_SLUG: Final = re.compile(r"[^\w -]")


@cache
def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def found_in(names: Iterable[str], wrong: Callable[[str], Iterable[str]]) -> dict[str, list[str]]:
    """What is wrong in each file that has anything wrong."""
    return {name: found for name in names if (found := sorted(wrong(name)))}


def test_clauses_exist() -> None:
    known = set(clauses())
    families = {clause.rpartition("-")[0] for clause in known}
    allowed = known | families | MADE_UP
    assert found_in([*PAGES, *SOURCES], lambda name: set(_CLAUSE.findall(text_of(name))) - allowed) == {}


@cache
def anchors(name: str) -> frozenset[str]:
    """The anchors of a page's headings."""
    headings = re.findall(
        r"^#{1,6} (.+)$",
        re.sub(r"^```.*?^```", "", text_of(name), flags=re.MULTILINE | re.DOTALL),
        re.MULTILINE,
    )
    named = re.findall(r'(?:id|name)="([^"]+)"', text_of(name))
    return frozenset([_SLUG.sub("", title.lower()).replace(" ", "-") for title in headings] + named)


def test_links_lead_somewhere() -> None:
    """Links of `website/pages/` are relative to the site, whose own test follows them."""
    assert found_in((name for name in PAGES if not name.startswith("website/pages/")), broken_links) == {}


def broken_links(name: str) -> Iterator[str]:
    for target, anchor in _LINK.findall(
        re.sub(r"^```.*?^```", "", text_of(name), flags=re.MULTILINE | re.DOTALL)
    ):
        path = (ROOT / name).parent / target if target else ROOT / name
        if not path.exists():
            yield target
        elif anchor and path.suffix == ".md":
            page = path.resolve().relative_to(ROOT).as_posix()
            if anchor not in anchors(page):
                yield f"{target}#{anchor}"


def quoted(name: str) -> Iterator[str]:
    """The texts between single backticks in a page or a module."""
    yield from _QUOTED.findall(re.sub(r"^ *```.*?^ *```", "", text_of(name), flags=re.MULTILINE | re.DOTALL))


def test_files_and_modules_exist() -> None:
    assert found_in([*PAGES, *(name for name in SOURCES if name.endswith(".py"))], unknown_names) == {}


def unknown_names(name: str) -> Iterator[str]:
    for part in quoted(name):
        if part.startswith(_FOLDERS) and re.fullmatch(r"[\w./-]+", part) and "/" in part.rstrip("/"):
            if not ((ROOT / part).exists() or _PLACEHOLDER.search(part)):
                yield part
        elif _MODULE.fullmatch(part) and not _importable(part):
            yield part


@cache
def _importable(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = find_spec(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        if found is not None and found.origin is not None:
            rest = parts[length:]
            return not rest or re.search(rf"\b{rest[0]}\b", Path(found.origin).read_text("utf-8")) is not None
    return False


@cache
def options() -> frozenset[str]:
    """Every option that is in the code, or in a file that starts programs."""
    files = [
        name
        for name in _TRACKED
        if not name.endswith((".md", ".json", ".txt")) and name != Path(__file__).relative_to(ROOT).as_posix()
    ]
    found: set[str] = set()
    for name in files:
        try:
            found.update(_OPTION.findall(text_of(name)))
        except UnicodeDecodeError:
            continue
        if name.startswith("cli/"):  # an option without a text of its own has the name of its parameter
            found.update("--" + word.replace("_", "-") for word in _PARAMETER.findall(text_of(name)))
    return frozenset(found | FOREIGN)


def test_options_exist() -> None:
    assert found_in(PAGES, lambda name: set(_OPTION.findall(text_of(name))) - options()) == {}
