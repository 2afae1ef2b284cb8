"""The verdict on a store that any implementation wrote, without an adapter: its bytes against its own log."""

from rocket_conformance.store_verdict.judgement import StoreVerdict, judge_store
from rocket_conformance.store_verdict.observations import Observations
from rocket_conformance.store_verdict.reporting import store_report, verdict_lines
from rocket_conformance.store_verdict.restart_judge import judge_continuation, judge_restart, log_end
from rocket_conformance.store_verdict.sparse import copy_sparse

__all__ = [
    "Observations",
    "StoreVerdict",
    "copy_sparse",
    "judge_continuation",
    "judge_restart",
    "judge_store",
    "log_end",
    "store_report",
    "verdict_lines",
]
