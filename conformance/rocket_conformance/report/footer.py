"""The last line of a report: what its cases come to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rocket_conformance.judging import FAILING, Verdict, exit_code
from rocket_conformance.report.baseline import Baseline
from rocket_conformance.report.lines import CaseLine, counted


def footer_line(
    lines: Sequence[CaseLine],
    baseline: Baseline,
    *,
    missing: Sequence[str],
    cut_short: str | None,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The footer.

    Args:
        lines: of all cases.
        baseline: what is known to fail.
        missing: what was required and is not there.
        cut_short: why not everything ran; None when everything did.
        more: further fields, of which `ops` and `families` have to be.
    """
    counts: Counter[Verdict] = Counter(line.verdict for line in lines)
    stale = baseline.stale(lines)
    return {
        "type": "footer",
        "counts": counts,
        "coverage": counted(lines),
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
