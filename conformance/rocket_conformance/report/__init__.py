"""Reports: JSON Lines first, everything else is rendered from them."""
# pyright: reportUnusedImport=false

from rocket_conformance.report.account import Account, Item, account_of, cause_title, causes_of
from rocket_conformance.report.badges import badge, badge_picture, badge_svg, write_badges
from rocket_conformance.report.baseline import Baseline, Excuse, baseline_text, read_baseline
from rocket_conformance.report.comparison import compare_implementations
from rocket_conformance.report.conclusion import (
    conclusion,
    conclusions,
    failing_clauses,
    family_of,
    family_verdicts,
    known_text,
    release_text,
    tone_of,
)
from rocket_conformance.report.diff import Change, ReportDiff, compare_reports, read_whole_report
from rocket_conformance.report.footer import footer_line
from rocket_conformance.report.junit import render_junit
from rocket_conformance.report.lines import CaseLine, Report, ReportWriter, header_line, read_report
from rocket_conformance.report.markdown import render_markdown
from rocket_conformance.report.terminal import print_summary
from rocket_conformance.report.wording import (
    describe_divergence,
    describe_files,
    describe_operations,
    failure_text,
    happened,
    value_text,
)
