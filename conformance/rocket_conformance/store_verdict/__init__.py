"""The verdict on a store that any implementation wrote, without an adapter: its bytes against its own log."""

from rocket_conformance.store_verdict.judgement import StoreVerdict, judge_store
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.restart_judge import judge_restart
from rocket_conformance.store_verdict.sparse import copy_sparse
from rocket_conformance.store_verdict.store_report import store_report, verdict_lines

__all__ = [
    "Observations",
    "Place",
    "StoreVerdict",
    "copy_sparse",
    "judge_restart",
    "judge_store",
    "store_report",
    "verdict_lines",
]
