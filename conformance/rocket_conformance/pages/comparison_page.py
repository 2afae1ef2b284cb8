"""The page of many reports side by side: clauses by implementations."""

from collections.abc import Mapping
from typing import Any

from rocket_spec.printable import printable

from rocket_conformance.pages.layout import render_page
from rocket_conformance.report import Comparison, conclusions, family_verdicts, tone_of

_SIGNS = {"differs": "✗", "passes": "✓", "none": ""}


def render_comparison(comparison: Comparison) -> str:
    """The page."""
    return render_page(
        "comparison.html.j2",
        {
            "runs": [
                {
                    "name": printable(name, limit=80),
                    "tone": tone_of(report),
                    "conclusion": printable(conclusions(report, named=False)[-1]),
                    "families": family_verdicts(report),
                }
                for name, report in zip(comparison.names, comparison.reports, strict=True)
            ],
            "rows": [_row(row) for row in comparison.to_json()["clauses"]],
        },
    )


def _row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    cells = [
        {
            "sign": _SIGNS[cell["state"]],
            "state": cell["state"],
            "title": f"{cell['passed']} passed, {cell['failed']} failed",
        }
        for cell in row["implementations"]
    ]
    return {**row, "cells": cells}
