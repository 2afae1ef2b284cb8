"""The lines of report.jsonl: a header, one per case, a footer; without the footer it was cut off. The baseline excuses lines.

A failure in words, in plain text: what an adapter or a case file chose, keys, file names, messages, is shown escaped and cut.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self, TextIO, cast

from rocket_spec.clauses import clauses
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.outputs import refuse_other_kinds
from rocket_spec.printable import counted, printable
from rocket_spec.profiles import GROUND
from rocket_spec.store_folders import refuse_store

from rocket_conformance.cases import origin_of
from rocket_conformance.comparison import describe_file
from rocket_conformance.files import Allowance, image_from_base64, read_input
from rocket_conformance.judging import FAILING, Verdict, exit_code
from rocket_conformance.protocol import PROTOCOL, Hello, suite_version
from rocket_conformance.schema import problems

_LARGEST: Final = 1 << 30
_LONGEST: Final = 400
_IMPLEMENTATION: Final[Mapping[str, Any]] = {
    "name": "", "version": "", "language": "", "ops": [], "geometry": "any", "features": [],
}  # fmt: skip
_USUAL: Final[Mapping[str, dict[str, Any]]] = {
    "header": {
        "suite": "", "protocol": 1, "profile": GROUND, "implementation": {}, "command": [], "seed": 0, "examples": 0, "started": "",
    },
    "case": {"detail": "", "replay": None, "description": ""},
    "footer": {
        "counts": {}, "coverage": {}, "stale": [], "missing": [], "cut_short": None, "ops": [], "families": [], "exit_code": 0,
        "narrowed": [], "suite_cases": {}, "triples": {},
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseLine:
    """The line of one case."""

    id: str  # `CLAUSE/slug`
    clauses: tuple[str, ...]  # what it is evidence of, the clause it is named after first
    level: str  # of that clause, MUST or OBSERVED
    verdict: Verdict  # what came of it
    baselined: bool = False  # whether the baseline excuses it
    examples: int = 0  # how many lists ran: 1, or those of a property
    millis: int = 0  # time between sending and judging, all examples together
    detail: str = ""  # why it did not run or what happened, in words
    divergence: tuple[Mapping[str, Any], ...] = ()  # the differences with their clauses, the first one first
    replay: str | None = None  # path of the replay file in the report's folder
    description: str = ""  # what the case catches, and what that costs; of a case that failed

    @property
    def is_property(self) -> bool:
        """Whether it is the line of a property."""
        return origin_of(self.id) == "property"

    @property
    def is_drawn(self) -> bool:
        """Whether its lists were drawn, not written for its clause."""
        return origin_of(self.id) != "written"

    def to_json(self) -> dict[str, Any]:
        """As the report holds it."""
        return {"type": "case"} | {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Report:
    """A report; `footer` is None when the run was cut off."""

    header: Mapping[str, Any]
    cases: tuple[CaseLine, ...]
    footer: Mapping[str, Any] | None

    def to_lines(self) -> Iterator[Mapping[str, Any]]:
        """The lines of report.jsonl."""
        yield self.header
        yield from (case.to_json() for case in self.cases)
        if self.footer is not None:
            yield self.footer

    @property
    def profile(self) -> str:
        """The release whose behaviour was required."""
        return str(self.header.get("profile", GROUND))

    @property
    def exit_code(self) -> int:
        """The exit code of the run; 130 when it was cut off."""
        return 130 if self.footer is None else int(self.footer["exit_code"])


def header_line(
    hello: Hello, command: Sequence[str], seed: int, examples: int, profile: str = GROUND
) -> dict[str, Any]:
    """The first line of a report; `profile` is the release whose behaviour is required."""
    return {
        "type": "header",
        "suite": suite_version(),
        "protocol": PROTOCOL,
        "profile": profile,
        "implementation": {
            "name": hello.name,
            "version": hello.version,
            "language": hello.language,
            "ops": sorted(hello.ops),
            "geometry": "any" if hello.geometries is None else [list(pair) for pair in hello.geometries],
            "features": sorted(hello.features),
        },
        "command": list(command),
        "seed": seed,
        "examples": examples,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def cases_by_verdict(
    lines: Iterable[CaseLine], group_of: Callable[[str], str] = lambda clause: clause
) -> dict[str, dict[str, int]]:
    """Cases by group and verdict; a case counts for the group of the clause it is named after, by default the clause itself."""
    groups: dict[str, dict[str, int]] = {}
    for line in lines:
        counts = groups.setdefault(group_of(line.clauses[0]), {})
        counts[line.verdict] = counts.get(line.verdict, 0) + 1
    return groups


class ReportWriter:
    """Writes report.jsonl line by line into a folder, if there is one, so that an interrupted run leaves what it knew."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        if self._folder is not None:
            refuse_store(self._folder)
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / "report.jsonl"
            refuse_other_kinds(path)
            path.unlink(missing_ok=True)  # what a link leads to stays as it is
            self._file = path.open("x", encoding="utf-8", newline="\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, value: Mapping[str, Any]) -> None:
        """Writes one line."""
        if self._file is not None:
            try:
                self._file.write(json.dumps(value) + "\n")
                self._file.flush()
            except OSError:  # a full disk: no torn report stays
                file, self._file = self._file, None
                with suppress(OSError):
                    file.close()
                Path(file.name).unlink(missing_ok=True)
                raise

    def write_again(self, report: Report) -> None:
        """Writes every line again: an interrupt may have left one incomplete."""
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()
        for line in report.to_lines():
            self.write(line)


def read_report(path: Path) -> Report:
    """Reads report.jsonl; a report that was cut off has no footer.

    Raises MalformedError: naming the line that is none of a report.
    Raises OSError: when it cannot be read.
    """
    header: Mapping[str, Any] | None = None
    footer: Mapping[str, Any] | None = None
    cases: list[CaseLine] = []
    lines = read_input(path, limit=_LARGEST, expected="a report").split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
            kind = value["type"]
            if kind in _USUAL:
                value = _complete(value)
                _check(value)
            if kind == "case":
                fields: dict[str, Any] = {name: value[name] for name in CaseLine.__slots__}
                fields |= {name: tuple(value[name]) for name in ("clauses", "divergence")}
                cases.append(CaseLine(**fields))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            if number == len(lines):  # cut off in the middle of a line
                break
            raise MalformedError(
                file=f"{path}:{number}",
                found=f"{type(error).__name__}: {error}",
                expected="a line of a report",
            ) from None
        if kind == "header":
            header = cast("dict[str, Any]", value)
        elif kind == "footer":
            footer = cast("dict[str, Any]", value)
    if header is None:
        raise MalformedError(file=str(path), found="no header line", expected="a report")
    return Report(header, tuple(cases), footer)


def _complete(value: dict[str, Any]) -> dict[str, Any]:
    """A line with the usual values of fields that reports of other versions and tools lack."""
    found: dict[str, Any] = {**_USUAL[value["type"]], **value}
    if isinstance(implementation := found.get("implementation"), dict):
        found["implementation"] = {**_IMPLEMENTATION, **implementation}
    return found


def _check(value: object) -> None:
    """ValueError with the first thing that the schema of a report's line finds."""
    found = problems("report_line", value)
    if found:
        raise ValueError(found[0][:_LONGEST])


# --- baseline -----------------------------------------------------------------------------------------

_LARGEST_BASELINE: Final = 16 << 20
_LONGEST_REASON: Final = 100
_NUMBER: Final = re.compile(r"\[\d+\]| \d+")


_OPERATION: Final = re.compile(r"operation \d+ \(([a-z]+\.[a-z_]+)\): ")


def operation_of(line: CaseLine) -> str:
    """The operation that ends a case without an answer, `index.select`; empty if none is named."""
    found = _OPERATION.search(line.detail)
    return found[1] if found else ""


def first_difference(line: CaseLine) -> str:
    """Place and kind of a case's first difference, without the numbers: `entry[].key_hash:wrong-bytes`; of a crash or a hang the operation."""
    return difference_text(line.divergence[0]) if line.divergence else operation_of(line)


def difference_text(difference: Mapping[str, Any]) -> str:
    """Place and kind of a difference, without the numbers."""
    field, kind = (str(difference[name]) for name in ("field", "kind"))
    return "".join(printable(_NUMBER.sub("[]", f"{field}:{kind}"), limit=None).replace(" ", "-").split())


@dataclass(frozen=True, slots=True)
class Excuse:
    """One line: a case id or glob, the verdict that it must have, why, and the first difference; any if that is empty."""

    glob: str
    verdict: Verdict
    reason: str
    first: str = ""

    def excuses(self, line: CaseLine) -> bool:
        """Whether a case may fail like this."""
        found = first_difference(line)
        is_same = self.first in {"", found} or not found  # no operation is named of what has just hung
        return line.verdict == self.verdict and is_same and fnmatchcase(line.id, self.glob)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The lines of a baseline; without any, nothing is excused and nothing is stale."""

    lines: tuple[Excuse, ...] = ()

    def excuses(self, line: CaseLine) -> bool:
        """Whether a case may fail like this."""
        return self.reason(line) is not None

    def reason(self, line: CaseLine) -> str | None:
        """The reason why a case may fail like this; None if it may not."""
        return next((excuse.reason for excuse in self.lines if excuse.excuses(line)), None)

    def stale(self, lines: Sequence[CaseLine], *, unmatched: bool = True) -> list[str]:
        """Descriptions of what is out of date: a line with a case that passed or differs elsewhere first, or, if `unmatched`, without one."""
        found: list[str] = []
        for excuse in self.lines:
            ran = [
                line
                for line in lines
                if fnmatchcase(line.id, excuse.glob) and line.verdict != "not_applicable"
            ]
            if not ran and unmatched:
                found.append(f"{excuse.glob}: matches no applicable case of this run")
            for line in ran:
                if line.verdict == "pass":
                    found.append(f"{_named(excuse, line)} is pass, not {excuse.verdict}")
                elif line.verdict == excuse.verdict and not excuse.excuses(line):
                    first = first_difference(line)
                    found.append(f"{_named(excuse, line)} first differs in {first}, not in {excuse.first}")
        return [printable(text, limit=None) for text in found]


def _named(excuse: Excuse, line: CaseLine) -> str:
    """A line of a baseline, and the case that it is about if it is a glob."""
    return line.id if excuse.glob == line.id else f"{excuse.glob}: {line.id}"


def baseline_text(cases: Iterable[CaseLine], known: Baseline) -> str:
    """A baseline that excuses what fails in a report, one line a case, sorted by id, with the reasons that are known already."""
    lines = ["# CASE-OR-GLOB  verdict:first-difference  reason-or-url\n"]
    for case in sorted((case for case in cases if case.verdict in FAILING), key=lambda case: case.id):
        first = first_difference(case)
        verdict = f"{case.verdict}:{first}" if first else case.verdict
        lines.append(f"{case.id}  {verdict}  {known.reason(case) or _reason(case)}\n")
    return "".join(lines)


def _reason(case: CaseLine) -> str:
    """The first statement of the report about a failure."""
    text = f"{case.clauses[0]}: {case.divergence[0]['field']}" if case.divergence else case.detail
    return printable(text.partition("\n")[0], limit=_LONGEST_REASON) or case.verdict


def read_baseline(path: Path) -> Baseline:
    """Reads `CASE-OR-GLOB  verdict[:first-difference]  reason-or-url` lines; empty ones and those that start with # are skipped.

    Raises UsageError: naming the line that is not one, or the byte that is not UTF-8.
    Raises MalformedError: when it is not a regular file, or over 16 MiB.
    Raises OSError: when the file cannot be read.
    """
    found: list[Excuse] = []
    data = read_input(path, limit=_LARGEST_BASELINE, expected="a baseline")
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start:,}") from None
    for number, text in enumerate(lines, 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        parts = text.split(maxsplit=2)
        verdict, _, first = parts[1].partition(":") if len(parts) == 3 else ("", "", "")
        if verdict not in FAILING:
            raise UsageError(
                f"{path}:{number}: expected CASE-OR-GLOB, one of {', '.join(sorted(FAILING))}, and a reason"
            )
        found.append(Excuse(parts[0], verdict, parts[2].strip(), first))
    return Baseline(tuple(found))


# --- footer -------------------------------------------------------------------------------------------


def footer_line(
    lines: Sequence[CaseLine],
    baseline: Baseline,
    *,
    missing: Sequence[str],
    cut_short: str | None,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The footer; of the further fields in `more`, `ops` and `families` have to be there."""
    counts: Counter[Verdict] = Counter(line.verdict for line in lines)
    stale = baseline.stale(lines)
    return {
        "type": "footer",
        "counts": counts,
        "coverage": cases_by_verdict(lines),
        "stale": stale,
        "missing": missing,
        "cut_short": cut_short,
        "narrowed": [],
        "suite_cases": {},
        **more,
        "exit_code": exit_code(
            counts,
            failed=sum(line.verdict in FAILING and not line.baselined for line in lines),
            stale=bool(stale),
            cut_short=cut_short is not None,
            missing_required=bool(missing),
        ),
    }


# --- a case in words ----------------------------------------------------------------------------------

_MOST_OPS: Final = 40
_LONGEST_VALUE: Final = 200
_MOST_PARTS: Final = 8
_UNPACKED: Final = 1 << 23
_MOST_LINES: Final = 12


def value_text(value: object) -> str:
    """A value of a report: a text as it is, a rejection in words, anything else as JSON; escaped and cut."""
    if isinstance(value, str):
        return printable(value, limit=_LONGEST_VALUE)
    text = json_text(value)
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return f"rejected ({value_text(fields['rejected'])})" if list(fields) == ["rejected"] else text


def describe_divergence(divergence: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line of text for each difference."""
    lines: list[str] = []
    for item in divergence:
        where = f"operation {item['op']}" if item["op"] is not None else f"file {value_text(item['file'])}"
        at = "" if item["offset"] is None else f" at byte {item['offset']}"
        if item["field"] == "size" and None in (item["expected"], item["actual"]):
            is_missing = item["actual"] is None
            size = value_text(item["expected" if is_missing else "actual"])
            what = f"is missing, {size} bytes expected" if is_missing else f"of {size} bytes is not expected"
            lines.append(f"{item['clause']}: {where} {what}")
            continue
        texts = item.get("texts", {})
        form = " and {}" if item["kind"] == "wrongly rejected" else " (of {})"
        want, got = (
            value_text(item[name]) + (form.format(value_text(texts[name])) if name in texts else "")
            for name in ("expected", "actual")
        )
        lines.append(
            f"{item['clause']}: {where}, {value_text(item['field'])}{at}: {item['kind']}, expected {want}, actual {got}"
        )
    return lines


def happened(line: CaseLine) -> list[str]:
    """Describes what happened in a case, in lines: the adapter's last words first, then the end of what it wrote to stderr."""
    first, *rest = line.detail.rstrip().split("\n")
    if rest:
        first = f"{first.removesuffix('; the end of its stderr:')}: {rest[-1].strip()}"
    lines = [first, *(f"  {text}" for text in rest[-_MOST_LINES:])]
    return [printable(text, limit=_LONGEST_VALUE) for text in lines if text.strip()] or [""]


def describe_files(document: Mapping[str, Any]) -> list[str]:
    """The files that a replay file has at the start: each with what is in it, a line for each entry or unit."""
    lines: list[str] = []
    for path, packed in document["files"].items():
        lines.append(f"file {value_text(path)} exists at the start")
        try:
            image = image_from_base64(packed["zstd_base64"], Allowance(size=_UNPACKED))
        except MalformedError:
            continue
        found = list(islice(describe_file(path, document["ops"], image), _MOST_PARTS + 1))
        lines += [f"  {printable(text, limit=_LONGEST_VALUE)}" for text in found[:_MOST_PARTS]]
        lines += ["  and more"] if len(found) > _MOST_PARTS else []
    return lines


def describe_operations(document: Mapping[str, Any], *, most: int = _MOST_OPS) -> list[str]:
    """One line for each operation of a replay file, and one for each file that exists at the start."""
    ops: list[Mapping[str, Any]] = document["ops"]
    lines = [f"    {text}" for text in describe_files(document)]
    for place, op in enumerate(ops[:most]):
        fields = " ".join(f"{name}={json_text(value)}" for name, value in op.items() if name != "op")
        lines.append(f"{place:>3} {op['op']} {fields}".rstrip())
    if len(ops) > most:
        lines.append(f"    and {counted(len(ops) - most, 'more operation')}")
    return lines


def json_text(value: object) -> str:
    """A value as JSON, escaped and cut."""
    return printable(json.dumps(value, ensure_ascii=False), limit=_LONGEST_VALUE)


def failure_text(line: CaseLine, document: Mapping[str, Any] | None) -> str:
    """The whole text of a test's failure."""
    first, *rest = happened(line)
    lines = [f"{line.verdict}: {line.id}" + (f": {first}" if first else ""), *rest]
    lines += [f"  {text}" for text in describe_divergence(line.divergence[:5])]
    if line.divergence:
        clause = clauses().get(line.divergence[0]["clause"])
        if clause is not None:
            lines += ["", f"{clause.id} ({clause.level}; {clause.source}): {clause.summary}"]
    if line.description:
        lines.append(printable(line.description, limit=None))
    if document is not None:
        lines += ["", "The input:", *(f"  {text}" for text in describe_operations(document))]
    return "\n".join(lines)
