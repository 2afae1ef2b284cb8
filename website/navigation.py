"""The site's navigation: sections with their pages; a staged page that no section names is put among the guides."""

from collections.abc import Iterable, Iterator
from typing import Final

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Start": {
        "README": "The project on one page",
        "docs/tutorial": "Test your port in 30 minutes",
        "docs/judge-a-store": "Judge a broker without an adapter",
        "docs/recovery": "My index is gone",
        "docs/ci": "A gate in CI",
        "docs/spark": "A fleet on Spark",
        "docs/faq": "Questions and answers",
    },
    "The specification": {
        "structures": "File structures",
        "spec/SPEC": "Specification",
        "docs/design-query": "Errors of Design_Query.md",
        "spec/ERRATA": "Errata of public descriptions",
        "spec/VERSIONS": "Releases of RocketMQ",
        "results": "Conformance results",
        "conformance/MUTANTS": "Wrong implementations",
        "spec/REVIEW": "Review of the clauses",
    },
    "Guides": {
        "docs/adapters": "Writing an adapter",
        "gate-action/README": "The gate as an action",
        "docs/case-files": "Case files",
        "docs/reading-a-store": "Reading a store",
        "docs/query": "Finding a message",
        "docs/audit": "Findings explained",
        "docs/spark-clusters": "Spark clusters",
        "docs/spark-sources": "Spark data sources and streams",
        "docs/reliability": "Reliability and limits",
        "docs/broken-stores": "Broken stores and their cures",
        "docs/recipes": "Recipes for other tools",
        "docs/engine": "The engine",
        "docs/findings-rocketmq-store": "Findings: rocketmq-store",
        "docs/findings-ports": "Findings: other ports",
    },
    "Reference": {
        "api/command": "Command line",
        "conformance/PROTOCOL": "Adapter protocol",
        "api/tables": "Tables and columns",
        "api/findings": "Codes of findings",
        "api/python": "Python package",
        "golden/README": "Golden stores",
        "golden/rocket_golden/vectors/README": "Vectors",
        "packages/README": "Vectors as packages",
        "packages/java/README": "Vectors for JUnit",
        "packages/go/README": "Vectors for Go",
        "packages/rust/README": "Vectors for Rust",
        "packages/javascript/README": "Vectors for Node.js",
    },
    "The project": {
        "docs/architecture": "Architecture",
        "docs/dependencies": "Dependencies",
        "docs/licences": "Licences",
        "benchmarks/RESULTS": "Benchmarks",
        "benchmarks/SPARK": "Benchmark: Spark",
        "benchmarks/GROWTH": "Benchmark: growth",
        "CONTRIBUTING": "Contributing",
        "spec/README": "Contributing: clauses",
        "columnar/README": "Contributing: the engine",
        "conformance/README": "Contributing: cases and mutants",
        "tests/README": "Contributing: tests",
        "tools/README": "Contributing: generated files",
        "website/README": "Contributing: this site",
        "release/README": "Contributing: releases",
        "SECURITY": "Security",
        "CODE_OF_CONDUCT": "Code of conduct",
        "CHANGELOG": "Changelog",
    },
}
_REST: Final = "Guides"


def render_navigation(pages: Iterable[str]) -> str:
    """The toctrees of the start page."""
    left = set(pages)
    named = {page for section in SECTIONS.values() for page in section}
    return "\n".join(
        line
        for section, titles in SECTIONS.items()
        for line in (
            "```{toctree}",
            f":caption: {section}",
            ":hidden:",
            "",
            *(f"{title} <{page}>" for page, title in titles.items() if page in left),
            *_others(left - named, section),
            "```",
            "",
        )
    )


def _others(pages: set[str], section: str) -> Iterator[str]:
    if section == _REST:
        yield from sorted(pages)
