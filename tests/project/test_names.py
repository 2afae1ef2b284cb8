"""Names in pages and docstrings exist: clauses, modules, files, verbs, options, targets of make, links; class names have one meaning."""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import typer
from rocket_golden import manifest
from rocket_spec.clauses import clauses
from rocketspec.command import register_all

ROOT: Final = Path(__file__).parents[2]
_LISTED: Final = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
_TRACKED: Final = [name for name in _LISTED.stdout.split() if (ROOT / name).is_file()]
PAGES: Final = [name for name in _TRACKED if name.endswith(".md")]
SOURCES: Final = [name for name in _TRACKED if name.endswith((".py", ".ksy", ".java", ".go", ".rs", ".mjs"))]
MADE_UP: Final = {"IDX-NONE", "IDX-PUT-77", "IDX-PUTS"}  # clauses of tests that must not exist

_CLAUSE: Final = re.compile(
    r"\b(?:IDX|CQ|LOG)-[A-Z]+(?:-\d+)?\b|\b(?:CKP|UTF8|CFG|STORE|QRY|DLG|BCQ|TIM|TIX)-\d+\b"
)
_LINK: Final = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
_QUOTED: Final = re.compile(r"`([^`\n]+)`")
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]")
_PLACEHOLDER: Final = re.compile(r"\b(?!README)(?:[A-Z]+|MyCase)[./]")
FOREIGN: Final = {
    *("--spec", "--save-dev", "--omit-lockfile-registry-resolved", "--reference"),  # pipx, npm, chown
    *("--wait", "--inherit-path", "--no-compress", "--files"),  # Spark Connect, pex, spark-submit
    "--prefix",  # npm
    "--depp",  # a slip of the hand, in a transcript
}
"""Options of other programs that no code of ours calls."""
OF_PACKAGES: Final = {"--release", "--sparse", "--fast", "--pyargs", "--add-opens", "--add-exports"}
"""Options of other programs that the packages start or name."""
FOREIGN_NAMES: Final = {"add_files", "_spark_metadata", "from_arrow"}  # names of other projects
GROUPS: Final = {"spec", "case", "golden", "adapter", "spark"}
MADE_UP_FILES: Final = {
    *("my_port.py", "my_index.py", "my_adapter.py", "adapter/adapter.py", "tests/.../test_file.py"),
    *("rocketspec_main.py", "report.md", "tables.md", "command.md", "Design_Query.md"),
}
"""Files of examples, of reports and of the site, and one of RocketMQ."""

_PACKAGES: Final = re.compile(
    r"(?:cli|columnar|spark|spec|reference|golden|conformance)/(?:rocket_\w+|rocketspec)/.*\.py"
)
_MODULE: Final = re.compile(
    r"(?<![\w./-])(?:rocket_(?:spec|reference|golden|conformance|columnar|spark)|rocketspec)(?:\.[a-z_]+)+"
)
_RUN: Final = re.compile(r"python3? -m ((?:tools|benchmarks|website|release)[\w.]*)")
_FILE: Final = re.compile(r"(?<![\w./{}$*-])[\w.-]+(?:/[\w.-]+)*\.(?:py|md|ksy|mjs)\b(?![\w(/-])")
_COMMAND: Final = re.compile(
    r"(?:^\$ |`|^)rocketspec ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?[^`\n]*", re.MULTILINE
)
_TARGET: Final = re.compile(r"`make ([a-z-]+)|^(?:\$ )?make ([a-z-]+)", re.MULTILINE)
_EXTRA: Final = re.compile(r"[`'](?:rocketspec|\.)\[([a-z]+)\][`']")
_IDENTIFIER: Final = re.compile(r"(?!rocketspec_audit_)(?:\w+\.)*(_?[a-z]+(?:_[a-z0-9]+)+)(?:\(.*\))?")
_CODE: Final = re.compile(
    r"(?:index|queue|log|checkpoint|store|config|topic|consumer|delay|transaction|timer)\.[a-z_]+"
)
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


_PATHS: Final = {
    "/".join(parts[at:end])
    for name in _TRACKED
    if (parts := name.split("/"))
    for end in range(1, len(parts) + 1)
    for at in range(end)
}
"""Every file and folder, with or without the folders that it is in."""


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


@cache
def docstrings(name: str) -> str:
    """The docstrings of a module; the whole of a page."""
    if not name.endswith(".py"):
        return text_of(name)
    found = [
        ast.get_docstring(node, clean=False)
        for node in ast.walk(ast.parse(text_of(name)))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return "\n".join(filter(None, found))


PYTHON: Final = [name for name in SOURCES if name.endswith(".py")]


def test_files_and_modules_exist() -> None:
    assert found_in([*PAGES, *PYTHON], unknown_files) == {}


def unknown_files(name: str) -> Iterator[str]:
    text = docstrings(name)
    modules = set(_MODULE.findall(text)) - {"rocketspec.pex", "rocketspec.vectors", "rocketspec.adapter"}
    yield from (found for found in modules if not _importable(found))
    runs = {found.replace(".", "/") for found in _RUN.findall(text)}
    yield from (found for found in runs if not {found, f"{found}.py"} & _PATHS)
    files = set() if name.startswith("tests/") else set(_FILE.findall(text)) - MADE_UP_FILES
    yield from (
        found for found in files if not _PLACEHOLDER.search(found) and found.lstrip("./") not in _PATHS
    )


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


def _commands(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    yield name, {"--help"}.union(*([*option.opts, *option.secondary_opts] for option in command.params))
    for verb, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {verb}".strip())


@cache
def options() -> dict[str, set[str]]:
    """The options of each verb, and under `""` those before one."""
    app = typer.Typer()
    app.callback()(lambda: None)
    register_all(app)
    return {**dict(_commands(typer.main.get_command(app), "")), "": {"--help", "--version"}}


@cache
def other_options() -> frozenset[str]:
    """Options in what starts other programs, or is one."""
    names = [
        name
        for name in _TRACKED
        if not name.endswith((".md", ".json", ".txt", ".zip", ".xz")) and not _PACKAGES.fullmatch(name)
    ]
    texts = [
        (ROOT / name).read_bytes().decode("utf-8", "replace")
        for name in names
        if name != "tests/project/test_names.py"
    ]
    found: Iterable[list[str]] = map(_OPTION.findall, texts)
    return frozenset(FOREIGN.union(*found))


def test_options_and_targets_exist() -> None:
    known = other_options().union(OF_PACKAGES, *options().values())
    assert found_in(PAGES, lambda name: set(_OPTION.findall(text_of(name))) - known) == {}
    made = {"sure", *" ".join(re.findall(r"^([a-z -]+):", text_of("Makefile"), re.MULTILINE)).split()}
    assert (
        found_in(PAGES, lambda name: {one or other for one, other in _TARGET.findall(text_of(name))} - made)
        == {}
    )


def test_verbs_have_their_options() -> None:
    pages = [name for name in PAGES if not name.startswith("tests/cli/transcripts/")]
    assert found_in(pages, commands_that_fail) == {}


def commands_that_fail(name: str) -> Iterator[str]:
    for found in _COMMAND.finditer(text_of(name)):
        verb, inner = found[1], f"{found[1]} {found[2]}"
        if verb == "itself":  # a sentence
            continue
        known = options().get(inner, options().get(verb))
        own = re.split(r" -- | \||&&|#", found[0])[0]
        is_group = verb in GROUPS and found[2] is not None
        if known is None or (is_group and inner not in options()) or set(_OPTION.findall(own)) - known:
            yield found[0]


def test_texts_of_the_packages_name_real_options() -> None:
    known = OF_PACKAGES.union(*options().values())

    def wrong(name: str) -> set[str]:
        values = [node.value for node in ast.walk(ast.parse(text_of(name))) if isinstance(node, ast.Constant)]
        found = set(_OPTION.findall("\n".join(value for value in values if isinstance(value, str))))
        return {option for option in found - known if not option.startswith("--rocketspec-")}

    assert found_in(filter(_PACKAGES.fullmatch, _TRACKED), wrong) == {}


_ASIDE: Final = re.compile(
    r'''([fb]r?""".*?"""|"(?!"")(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|r?""".*?"""|#[^\n]*''', re.DOTALL
)
"""Texts in one group; docstrings and comments."""


@cache
def words() -> frozenset[str]:
    """The names and dotted names in code, comments and docstrings aside."""
    found: set[str] = set()
    for name in _TRACKED:
        if not name.endswith((".md", ".zip", ".xz", ".zst")):
            text = (ROOT / name).read_bytes().decode("utf-8", "replace")
            code = _ASIDE.sub(lambda part: part[1] or "", text) if name.endswith(".py") else text
            found.update(re.findall(r"\w+(?:\.\w+)*", code))
    return frozenset(found | {part for word in found for part in word.split(".")})


EXTRAS: Final[set[str]] = {*tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]}


def test_names_of_code_exist() -> None:
    assert found_in([*PAGES, *PYTHON], unknown_code) == {}


def unknown_code(name: str) -> set[str]:
    """Names with `_`, codes of findings and operations, stores that are unpacked, and extras that do not exist."""
    text = docstrings(name)
    names = {found[1] for part in _QUOTED.findall(text) if (found := _IDENTIFIER.fullmatch(part))}
    codes = {part for part in _QUOTED.findall(text) if _CODE.fullmatch(part)} if name in PAGES else set()
    stores = set(re.findall(r"golden unpack ([a-z][\w-]+)", text)) - {"it", *manifest().stores}
    return ((names | codes) - words() - FOREIGN_NAMES) | stores | (set(_EXTRA.findall(text)) - EXTRAS)


def test_class_names_have_one_meaning() -> None:
    """The reference and the engine have each their own of three; two adapters are examples that stand alone."""
    found = Counter(
        node.name
        for name in _TRACKED
        if name.endswith(".py") and not name.startswith("tests/") and "_generated" not in name
        for node in ast.walk(ast.parse(text_of(name)))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in found.items() if count > 1} == {
        "IndexFile",
        "IndexHeader",
        "Record",
        "Case",
        "Reader",
    }
