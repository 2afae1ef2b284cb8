"""JUnit XML, for the dashboards that read it."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.account import Account, account_of
from rocket_conformance.report.lines import CaseLine, Report
from rocket_conformance.report.wording import describe_divergence


def render_junit(report: Report) -> bytes:
    """One test suite per family of clauses, one test case per case."""
    root = ET.Element("testsuites", _counts(report.cases), name="rocketspec")
    account = account_of(report)
    verdict = printable("; ".join(account.verdict))
    suites: dict[str, list[CaseLine]] = {}
    for line in report.cases:
        suites.setdefault(line.clauses[0].rpartition("-")[0], []).append(line)
    for family, lines in sorted(suites.items()):
        suite = ET.SubElement(root, "testsuite", _counts(lines), name=family)
        properties = ET.SubElement(suite, "properties")
        for item in account.items:
            if item.clause.rpartition("-")[0] == family:
                ET.SubElement(properties, "property", name=item.kind, value=printable(item.title))
        ET.SubElement(properties, "property", name="verdict", value=verdict)
        for line in lines:
            _case(suite, line, account)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _counts(lines: Sequence[CaseLine]) -> dict[str, str]:
    """The counts of a suite, or of all of them; known failures count as skipped."""
    failures = sum(_failed(line) for line in lines)
    errors = sum(line.verdict == "disputed" for line in lines)
    passed = sum(line.verdict == "pass" for line in lines)
    return {
        "tests": str(len(lines)),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": str(len(lines) - failures - errors - passed),
        "time": f"{sum(line.millis for line in lines) / 1000:.3f}",
    }


def _failed(line: CaseLine) -> bool:
    return line.verdict in FAILING and not line.baselined


def _case(suite: ET.Element, line: CaseLine, account: Account) -> None:
    clause, _, slug = line.id.partition("/")
    case = ET.SubElement(suite, "testcase", classname=clause, name=slug, time=f"{line.millis / 1000:.3f}")
    differences = describe_divergence(line.divergence)
    message = (differences or [printable(line.detail or line.verdict, lines=True)])[0]
    if _failed(line):
        element = ET.SubElement(case, "failure", type=line.verdict, message=message)
        texts = [printable(line.detail, lines=True)] if line.detail and differences else []
        texts += differences
        texts += [item.title for item in account.items_of(line.id) if item.kind == "cause"]
        texts += [printable(line.description, limit=None)] if line.description else []
        if line.replay is not None:
            texts.append(f"replay: {line.replay}")
        element.text = "\n".join(texts)
    elif line.verdict == "disputed":
        ET.SubElement(case, "error", type=line.verdict, message=message)
    elif line.verdict != "pass":
        known = "known failure, " if line.baselined else ""
        ET.SubElement(case, "skipped", message=f"{known}{line.verdict}: {message}")
