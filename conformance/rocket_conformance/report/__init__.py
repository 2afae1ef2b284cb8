"""Reports: JSON Lines first, everything else is rendered from them."""
# pyright: reportUnusedImport=false

from rocket_conformance.report.compare import (
    Change,
    ReportDiff,
    compare_implementations,
    compare_reports,
    read_whole_report,
)
from rocket_conformance.report.conclusion import (
    Account,
    account_of,
    causes_of,
    conclusion,
    conclusions,
    family_of,
    family_verdicts,
    known_text,
    print_summary,
    release_text,
    tone_of,
)
from rocket_conformance.report.lines import (
    Baseline,
    CaseLine,
    Excuse,
    Report,
    ReportWriter,
    baseline_text,
    describe_divergence,
    describe_files,
    describe_operations,
    failure_text,
    footer_line,
    happened,
    header_line,
    read_baseline,
    read_report,
    value_text,
)
from rocket_conformance.report.renderings import (
    badge,
    badge_picture,
    badge_svg,
    render_junit,
    render_markdown,
    write_badges,
)
