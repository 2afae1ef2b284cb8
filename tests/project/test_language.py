"""Pages and help texts are in plain English, by the rules of CONTRIBUTING.md."""

import ast
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
    r"|looked for any more|is none of its|[Pp]uts? off|Has (what|times)|go(es)? nowhere"
    r"|which those|be told|tells nobody)\b"
)


QUESTION = re.compile(r"(Whats?|Which|Whose|Who|Where|How|Why|Whether|That)\b")
"""A text that begins so names a question, not its answer."""

SUBJECT = re.compile(
    r"(?<=[.;:] )(?:What|Which|Whose)\b[^.?!]*[.!]|^(?:What|Which|Whose)\b[^.?!]*[.!]", re.MULTILINE
)
"""A sentence whose subject is a relative clause; a question may begin so."""

MEASURED = {
    "golden/generator/damage/store.py",
    "columnar/rocket_columnar/rebuild/store_rebuild.py",
    *(f"columnar/rocket_columnar/restart/{name}.py" for name in ("prediction", "queues", "recovery")),
    "reference/rocket_reference/java.py",
}
"""Pages of measurements name the hash of these files: a new wording would make them stale."""

SCRIPTS = [
    page
    for room in ("benchmarks", "release", "tests", "tools", "website")
    for page in sorted((ROOT / room).rglob("*.py"))
]
"""Only their docstrings are read."""


def docstrings(path: Path) -> list[str]:
    """The docstrings of a module, its classes and functions."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)]
    return [ast.get_docstring(node) or "" for node in nodes]


def constants(tree: ast.Module) -> list[str]:
    """The docstrings that follow several constants: it is not clear which of them they describe."""
    found: list[str] = []
    run = last = 0
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            run = run + 1 if node.lineno == last + 1 else 1
            last = node.end_lineno or 0
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found += [str(node.value.value)] if run > 1 and node.lineno == last + 1 else []
        run = 0
    return found


def rejected(text: str) -> list[str]:
    """The rejected phrases of a text, with what is around them."""
    text = re.sub(r"\s+", " ", text)
    return [text[max(0, match.start() - 40) : match.end() + 20] for match in REJECTED.finditer(text)]


def test_pages_and_docstrings_of_scripts_use_none_of_the_rejected_phrases() -> None:
    texts = {page: page.read_text("utf-8") for page in PAGES} | {
        path: "\n".join(docstrings(path)) for path in SCRIPTS
    }
    found = {path.relative_to(ROOT).as_posix(): rejected(text) for path, text in texts.items()}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


MODULES = [page for page in PAGES if page.suffix == ".py"]


def test_a_docstring_says_what_the_code_does() -> None:
    texts = {page.relative_to(ROOT).as_posix(): docstrings(page) for page in MODULES}
    for page in SCRIPTS:
        if page.parts[len(ROOT.parts)] in {"tools", "website"}:
            texts[page.relative_to(ROOT).as_posix()] = docstrings(page)[:1]
    found = {
        name: [
            text for text in of if QUESTION.match(text) and (text == of[0] or not text.startswith("Whether"))
        ]
        for name, of in texts.items()
    }
    assert {name: of for name, of in found.items() if of and name not in MEASURED} == {}


def test_each_constant_has_its_own_docstring() -> None:
    shared = {
        page.relative_to(ROOT).as_posix(): constants(ast.parse(page.read_text("utf-8"))) for page in MODULES
    }
    assert {name: texts for name, texts in shared.items() if texts and name not in MEASURED} == {}


@pytest.mark.parametrize("text", ["A = 1\nB = 2\n'Of both?'\n", "A: int = 1\nB: int = 2\n'Of both?'\n"])
def test_a_shared_docstring_is_found(text: str) -> None:
    assert constants(ast.parse(text)) == ["Of both?"]
    assert constants(ast.parse(text.replace("B", "\nB"))) == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.suffix == ".md" and page.name != "SPEC.md"],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_no_sentence_of_a_page_has_a_relative_clause_as_its_subject(page: Path) -> None:
    """SPEC.md is left out: a clause that is worded anew has to be reviewed again."""
    text = re.sub(
        r"^```.*?^```|^#[^\n]*$|^\|[^\n]*$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    assert [match[0] for part in paragraphs for match in SUBJECT.finditer(part)] == []
