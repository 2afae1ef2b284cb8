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
    Item,
    account_of,
    cause_title,
    causes_of,
    conclusion,
    conclusions,
    describe_divergence,
    describe_files,
    describe_operations,
    failure_text,
    family_of,
    family_verdicts,
    happened,
    known_text,
    release_text,
    tone_of,
    value_text,
)
from rocket_conformance.report.lines import (
    Baseline,
    CaseLine,
    Excuse,
    Report,
    ReportWriter,
    baseline_text,
    footer_line,
    header_line,
    read_baseline,
    read_report,
)
from rocket_conformance.report.renderings import (
    badge,
    badge_picture,
    badge_svg,
    print_summary,
    render_junit,
    render_markdown,
    write_badges,
)
