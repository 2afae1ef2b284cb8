"""The verdict on a store that any implementation wrote, without an adapter: its bytes against its own log."""

from rocket_conformance.store_verdict.crash_judge import judge_crashes
from rocket_conformance.store_verdict.judgement import StoreVerdict, judge_store
from rocket_conformance.store_verdict.observations import Observations
from rocket_conformance.store_verdict.reporting import store_report, verdict_lines
from rocket_conformance.store_verdict.restart_judge import judge_restart

__all__ = [
    "Observations",
    "StoreVerdict",
    "judge_crashes",
    "judge_restart",
    "judge_store",
    "store_report",
    "verdict_lines",
]
