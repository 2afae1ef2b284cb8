"""The registry: SPEC.md parses, keeps its promises about ids, and whatever breaks its form is refused with a line."""

import ast
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import rocket_golden
from rocket_conformance.cases import Case, directed_cases
from rocket_conformance.properties import PROPERTIES, Property
from rocket_spec.clauses import clauses, parse
from rocket_spec.data import find_data
from rocket_spec.errors import MalformedError
from rocket_spec.layout import LAYOUTS

ROOT = Path(__file__).parents[2]
FACTS = "MUST · since 3.2.6 · evidence: case · IndexFile.putKey 104-107, 110"

FIXED = {
    "IDX-HASH": 3, "IDX-FILE": 5, "IDX-HDR": 5, "IDX-SLOT": 1, "IDX-ENT": 1, "IDX-PUT": 11, "IDX-FULL": 1,
    "IDX-SEL": 11, "IDX-TIME": 3, "IDX-LOAD": 2, "IDX-FLUSH": 1, "IDX-SVC": 20, "CQ-UNIT": 3, "CQ-FILE": 4,
    "CQ-TAGS": 3, "CQ-EXT": 11, "CQ-LOAD": 2, "CQ-BND": 1, "CQ-GET": 1, "CQ-PUT": 11, "CQ-REC": 4,
    "CQ-TRUNC": 7, "CQ-MIN": 3, "CQ-DEL": 1, "CQ-TIME": 2, "CQ-LAST": 2, "CQ-LMQ": 5, "LOG-REC": 10,
    "LOG-PROP": 8, "LOG-BLANK": 3, "LOG-FILE": 2, "LOG-DSP": 18, "UTF8": 2, "CKP": 6, "QRY": 5, "STORE": 27,
    "DLG": 22, "BCQ": 4, "TIM": 4, "CFG": 5,
}  # fmt: skip
"""How many ids of each family were given out; none may vanish."""


def document(*clause: str) -> str:
    return "# Title\n\n" + "\n".join(clause)


def test_the_ids_once_given_out_are_all_there() -> None:
    known = clauses()
    wanted = {f"{family}-{number}" for family, count in FIXED.items() for number in range(1, count + 1)}
    assert wanted <= set(known)


def test_every_heading_that_looks_like_a_clause_is_one() -> None:
    text = find_data("spec/SPEC.md").read_text("utf-8")
    headings = re.findall(r"^### (\S+)$", text, re.MULTILINE)
    assert [name for name in headings if "-" in name] == list(clauses())


def test_every_clause_with_case_evidence_has_directed_cases() -> None:
    directed = Counter(case.clauses[0] for case in directed_cases() if case.seed is None)
    wanted = [clause.id for clause in clauses().values() if clause.evidence == "case"]
    assert [name for name in wanted if directed[name] < 2] == []


def test_every_directed_case_is_named_after_a_clause_with_case_evidence() -> None:
    evidence = {clause.id: clause.evidence for clause in clauses().values()}
    assert [case.id for case in directed_cases() if evidence.get(case.id.partition("/")[0]) != "case"] == []


def test_every_clause_that_a_case_or_property_shows_can_be_broken() -> None:
    items: list[Case | Property] = [*directed_cases(), *PROPERTIES]
    shown = {clause for item in items for clause in item.clauses}
    assert {name for name in shown if clauses()[name].level == "UNSPECIFIED"} == set()


@pytest.mark.parametrize("golden", sorted({c.golden for c in clauses().values() if c.golden}))
def test_every_golden_test_exists(golden: str) -> None:
    path, _, name = golden.partition("[")[0].partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_clauses_of_the_layout_tables_exist() -> None:
    assert {field.clause for layout in LAYOUTS.values() for field in layout.fields} <= set(clauses())


def test_what_errata_name_as_shown_by_exists() -> None:
    text = find_data("spec/ERRATA.md").read_text("utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if re.match(r"\| (?!claim|-)", line)]
    assert len(rows) > 50
    store = (Path(rocket_golden.__file__).parent / "vectors" / "store").glob("*.json")
    cases = {vector["id"] for vector in rocket_golden.vectors()}
    cases |= {vector["id"] for path in store for vector in json.loads(path.read_text("utf-8"))}
    for row in rows:
        clause, shown = row[2], row[3].rstrip(" |")
        named = re.findall(r"[A-Z][A-Z0-9-]+-\d+/[a-z0-9-]+", shown)
        tests = re.findall(r"(tests/\S+\.py)::(\w+)", shown)
        assert named or tests, row
        assert set(named) <= cases, row
        assert all(f"def {name}(" in (ROOT / path).read_text("utf-8") for path, name in tests), row
        assert re.fullmatch(r"[A-Z0-9-]+(, [A-Z0-9-]+)*", clause), row


@pytest.mark.parametrize(
    ("clause", "line", "found"),
    [
        (("### IDX-PUT-5 title", FACTS, "Text."), 3, "heading 'IDX-PUT-5 title'"),
        (("### IDX-PUT-5", "Text."), 4, "'Text.'"),
        (("### IDX-PUT-5", FACTS.replace("MUST", "SHOULD"), "Text."), 4, "level 'SHOULD'"),
        (("### IDX-PUT-5", FACTS.replace("case", "gold"), "Text."), 4, "'evidence: gold'"),
        (("### IDX-PUT-5", FACTS.replace("case", "none"), "Text."), 4, "MUST with evidence none"),
        (("### IDX-PUT-5", FACTS.replace(" 104-107, 110", ""), "Text."), 4, "source 'IndexFile.putKey'"),
        (("### IDX-PUT-5", FACTS, ""), 3, "IDX-PUT-5 without text"),
        (("### IDX-PUT-5", FACTS, "Text.", "", "Reason: none."), 3, "IDX-PUT-5, MUST"),
        (("### CKP-1", FACTS, "Text.", "### CKP-1", FACTS, "Text."), 6, "CKP-1 again"),
        (("### CKP-2", FACTS, "Text.", "### CKP-1", FACTS, "Text."), 6, "CKP-1"),
    ],
)
def test_what_breaks_the_form_is_refused_with_its_line(
    clause: tuple[str, ...], line: int, found: str
) -> None:
    with pytest.raises(MalformedError) as caught:
        parse(document(*clause))
    assert caught.value.file == f"spec/SPEC.md:{line}"
    assert caught.value.found == found
