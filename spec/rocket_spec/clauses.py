"""The clauses of SPEC.md as values: the document is the registry, this reads it.

A clause is a heading with its id, one line of facts, and text up to the next heading:

    ### IDX-PUT-5
    MUST · since 3.2.6 · evidence: case · IndexFile.putKey 104-107

Standard library only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Final, NamedTuple

from rocket_spec.data import find_data
from rocket_spec.errors import MalformedError

LEVELS: Final = ("MUST", "OBSERVED", "UNSPECIFIED")
EVIDENCE: Final = ("case", "golden", "none")

_DOCUMENT: Final = "spec/SPEC.md"
_ID: Final = re.compile(r"(?P<family>[A-Z][A-Z0-9]*(?:-[A-Z]+)*)-(?P<number>[1-9][0-9]*)")
_FACTS_FORM: Final = "LEVEL · since X.Y.Z · evidence: case|golden: TEST|none · Class.member LINES; ..."
_SINCE: Final = re.compile(r"since (\d+\.\d+\.\d+)")
_EVIDENCE: Final = re.compile(
    r"evidence: (?:(?P<kind>case|none)|golden: (?P<test>tests/[\w/]+\.py::\w+(?:\[[^]]+\])?))"
)
_LINES: Final = r"\d+(?:-\d+)?"
_SOURCE: Final = re.compile(rf"(\w+)\.(\w+) ({_LINES}(?:, {_LINES})*)")


class JavaSource(NamedTuple):
    """A place in the Java sources of 4.9.3: `lines` are pairs of first and last line, both included."""

    java_class: str
    member: str
    lines: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of SPEC.md."""

    id: str  # the clause's id, `IDX-PUT-5`
    level: str  # "MUST", "OBSERVED" or "UNSPECIFIED"
    since: str  # oldest compared release that has the behaviour, "3.2.6"
    evidence: str  # "case", "golden" or, for UNSPECIFIED only, "none"
    # node id of the test that shows it, where the evidence is golden; else None. In brackets are names of scripts that a real
    # store ran, parted by semicolons; `*` stands for any text
    golden: str | None
    source: str  # Java class, member and lines at 4.9.3, as the document writes them
    text: str  # the clause's text in Markdown, examples included
    line: int  # line number of the heading in SPEC.md, from 1

    @property
    def family(self) -> str:
        """The id without its number: `IDX-PUT`."""
        return self.id.rpartition("-")[0]

    @property
    def number(self) -> int:
        """The id's number within its family."""
        return int(self.id.rpartition("-")[2])

    @property
    def summary(self) -> str:
        """The text's first sentence, on one line."""
        first = " ".join(self.text.split("\n\n", 1)[0].split())
        match = re.search(r"\.(?= |$)|:(?= `|$)", first)
        return first[: match.start()] if match else first

    @property
    def sources(self) -> tuple[JavaSource, ...]:
        """The places that `source` names, taken apart."""
        return tuple(_source(part) for part in self.source.split("; "))

    @property
    def reason(self) -> str | None:
        """The reason why nothing is sent if the level is UNSPECIFIED; else None."""
        match = re.search(r"^Reason: (.+?)(?:\n\n|\Z)", self.text, re.MULTILINE | re.DOTALL)
        return " ".join(match[1].split()) if match else None


def _source(part: str) -> JavaSource:
    match = _SOURCE.fullmatch(part)
    if match is None:
        raise ValueError(part)
    ranges: list[tuple[int, int]] = []
    for item in match[3].split(", "):
        first, _, last = item.partition("-")
        ranges.append((int(first), int(last or first)))
    if any(first > last for first, last in ranges) or ranges != sorted(ranges):
        raise ValueError(part)
    return JavaSource(match[1], match[2], tuple(ranges))


def _fail(line: int, found: object, expected: object) -> MalformedError:
    return MalformedError(file=f"{_DOCUMENT}:{line}", found=found, expected=expected)


def _sections(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Each heading outside code with its line number and the lines up to the next one."""
    current: tuple[int, str, list[str]] | None = None
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if line.startswith("#") and not fenced:
            if current is not None:
                yield current
            current = (number, line, [])
        elif current is not None:
            current[2].append(line)
    if current is not None:
        yield current


def _facts(line: int, facts: str) -> tuple[str, str, str, str | None, str]:
    """Level, since, evidence, test and source out of a clause's line of facts."""
    parts = facts.split(" · ")
    if len(parts) != 4:
        raise _fail(line, repr(facts), _FACTS_FORM)
    level, since, evidence, source = parts
    release, shown = _SINCE.fullmatch(since), _EVIDENCE.fullmatch(evidence)
    if level not in LEVELS:
        raise _fail(line, f"level {level!r}", " or ".join(LEVELS))
    if release is None:
        raise _fail(line, repr(since), "since X.Y.Z")
    if shown is None:
        raise _fail(
            line, repr(evidence), "evidence: case, golden: tests/.../test_file.py::test_name, or none"
        )
    kind, test = shown["kind"] or "golden", shown["test"]
    if (kind == "none") != (level == "UNSPECIFIED"):
        raise _fail(line, f"{level} with evidence {kind}", "none for UNSPECIFIED and for nothing else")
    try:
        for part in source.split("; "):
            _source(part)
    except ValueError as error:
        raise _fail(line, f"source {str(error)!r}", "Class.member 12-34, 56") from error
    return level, release[1], kind, test, source


def _clause(line: int, name: str, body: list[str]) -> Clause:
    if _ID.fullmatch(name) is None:
        raise _fail(line, f"heading {name!r}", "a clause id such as IDX-PUT-5")
    facts = _facts(line + 1, body[0] if body else "")
    own = takewhile(lambda one: not one.startswith("<!-- "), body[1:])  # no generated table or diagram
    clause = Clause(name, *facts, "\n".join(own).strip("\n"), line)
    if not clause.text:
        raise _fail(line, f"{name} without text", "one to three sentences")
    if (clause.reason is None) == (clause.level == "UNSPECIFIED"):
        raise _fail(
            line, f"{name}, {clause.level}", "a paragraph 'Reason: ...' for UNSPECIFIED and for nothing else"
        )
    return clause


def parse(text: str) -> dict[str, Clause]:
    """The clauses of a document in SPEC.md's form, by id, in the document's order.

    MalformedError, with the line, for a clause that breaks the form, an id that occurs twice, or numbers of a family that do not ascend.
    """
    found: dict[str, Clause] = {}
    highest: dict[str, int] = {}
    for line, heading, body in _sections(text):
        if not heading.startswith("### ") or not re.match(r"### [A-Z0-9]+-", heading):
            continue
        clause = _clause(line, heading.removeprefix("### "), body)
        if clause.id in found:
            raise _fail(line, f"{clause.id} again", f"it once; it stands at line {found[clause.id].line}")
        if clause.number <= highest.get(clause.family, 0):
            raise _fail(line, clause.id, f"a number above {highest[clause.family]}")
        highest[clause.family] = clause.number
        found[clause.id] = clause
    return found


@cache
def _document() -> tuple[Clause, ...]:
    found = parse(find_data(_DOCUMENT).read_text(encoding="utf-8"))
    if not found:
        raise _fail(1, "no clause", "clauses")
    return tuple(found.values())


def clauses() -> dict[str, Clause]:
    """All clauses of SPEC.md by id, in the document's order; MalformedError when it breaks its form."""
    return {clause.id: clause for clause in _document()}
