"""The site: builds strictly, every reference resolves, every clause has an anchor, every page is two clicks away."""

import subprocess
import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

import pytest
from rocket_conformance.judging import Verdict
from rocket_conformance.report import CaseLine, Report
from rocket_spec.clauses import clauses
from rocket_spec.tables import TABLES

from website.results import badges, latest, read_runs, render_results
from website.run_results import add
from website.table_columns import ROWS, describe_columns

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """Collects the ids and the references of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.references: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if name in {"href", "src"} and value:
                self.references.add(value)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {
        path.relative_to(site).as_posix(): Page(path.read_text("utf-8"))
        for path in sorted(site.rglob("*.html"))
    }


def resolve(page: str, reference: str) -> tuple[str, str]:
    """The file that a reference leads to, relative to the site, and the anchor."""
    parts = urlsplit(reference)
    path = normpath(join(dirname(page), unquote(parts.path))) if parts.path else page
    return path, unquote(parts.fragment)


def test_every_reference_leads_to_a_file_and_an_anchor(site: Path, pages: dict[str, Page]) -> None:
    broken: list[str] = []
    for name, page in pages.items():
        for reference in page.references:
            if urlsplit(reference).scheme:
                continue
            target, anchor = resolve(name, reference)
            missing_anchor = anchor and target in pages and anchor not in pages[target].ids
            if not (site / target).is_file() or missing_anchor:
                broken.append(f"{name}: {reference}")
    assert broken == []


def test_the_site_needs_no_other_server(pages: dict[str, Page]) -> None:
    """Scripts, styles and fonts are the site's own; links to other places are text that a reader follows."""
    loaded = {
        reference
        for page in pages.values()
        for reference in page.references
        if urlsplit(reference).scheme and urlsplit(reference).path.endswith((".js", ".css", ".woff2"))
    }
    assert loaded == set()


def test_every_clause_and_table_has_an_anchor(pages: dict[str, Page]) -> None:
    assert {name.lower() for name in clauses()} <= pages["spec/SPEC.html"].ids
    assert {name.replace("_", "-") for name in TABLES} <= {
        name.replace("_", "-") for name in pages["api/tables.html"].ids
    }


def test_every_page_is_two_clicks_from_the_start(pages: dict[str, Page]) -> None:
    links: dict[str, set[str]] = defaultdict(set)
    for name, page in pages.items():
        links[name] = {
            resolve(name, reference)[0] for reference in page.references if not urlsplit(reference).scheme
        }
    reached = {"index.html"} | links["index.html"]
    reached |= {target for name in list(reached) for target in links[name]}
    assert set(pages) - reached - {"404.html", "genindex.html", "py-modindex.html"} == set()


def test_the_specification_shows_evidence_with_each_clause(site: Path) -> None:
    page = (site / "spec/SPEC.html").read_text("utf-8")
    at = page.index('id="idx-put-5"')
    clause = page[at : page.index("<section", at)]
    for shown in (
        "IndexFile.putKey 104-107",
        "IDX-PUT-5/slot-equals-count",
        " mutants",
        "needs a damaged slot",
    ):
        assert shown in clause
    at = page.index('id="idx-hdr-4"')
    assert "<code>4.7.0</code>" in page[at : page.index("<section", at)]


def test_every_column_has_a_meaning() -> None:
    known = set(clauses()) | {""}
    assert set(ROWS) == set(TABLES)
    for table, columns in TABLES.items():
        described = describe_columns(table)
        assert [column.name for column in described] == [column.name for column in columns]
        assert all(column.meaning and column.clause in known for column in described)


def test_broken_links_and_anchors_are_errors(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    links = ("missing.md", "index.md#no-such-heading", "#nowhere", "missing.txt")
    (source / "index.md").write_text("# Start\n\n" + "".join(f"- [a link]({link})\n" for link in links))
    code = "import sys; from website.__main__ import run_sphinx; from pathlib import Path; P = map(Path, sys.argv[1:])"
    command = [sys.executable, "-c", f"{code}; sys.exit(run_sphinx(*P))"]
    done = subprocess.run(
        [*command, str(source), str(tmp_path / "out"), str(tmp_path / "trees")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert [
        link for link in links if link.removeprefix("index.md").removeprefix("#") not in done.stderr
    ] == []


def test_the_results_have_the_real_jar_and_the_reference_without_a_failure() -> None:
    shown = {run.name: run.clauses for run in latest(read_runs())}
    for name in ("rocketmq-store", "rocket_reference", "rocketspec engine"):
        cells = shown[name]
        assert set(cells) <= set(clauses())
        assert sum(passed for passed, _, _ in cells.values()) > 600
        assert {state for _, _, state in cells.values()} == {"passes"}
    assert "| rocketspec engine 0.1.0 |" in render_results()


def report(clause: str, verdict: Verdict, started: str) -> Report:
    """A report of one case of version 2.0 of a port."""
    implementation = {"name": "My Port/x", "version": "2.0", "language": "rust"}
    header = {"suite": "0.1.0", "started": started, "implementation": implementation}
    return Report(header, (CaseLine(f"{clause}/a", (clause,), "MUST", verdict),), {"exit_code": 0})


def test_runs_are_added_from_reports(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    first, second = "2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00"
    add([report("CQ-PUT-1", "pass", second)], results)
    add([report("CQ-PUT-1", "diverged", first), report("CQ-PUT-1", "pass", second)], results)
    runs = read_runs(results)
    assert [(run.title, run.started) for run in runs] == [("My Port/x 2.0", first), ("My Port/x 2.0", second)]
    assert [run.tally("queue") for run in runs] == [(0, 1), (1, 0)]
    ((name, picture),) = badges(runs)
    assert name == "my-port-x-2.0-queue.svg"
    assert "RocketMQ 4.9.3 queue: 1 of 1 cases pass" in picture
    ((_, picture),) = badges(runs[:1])
    assert "RocketMQ 4.9.3 queue: 0 of 1 cases pass" in picture
