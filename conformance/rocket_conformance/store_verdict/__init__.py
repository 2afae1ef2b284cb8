"""The verdict on a store that any implementation wrote, without an adapter: its bytes against its own log."""
# pyright: reportUnusedImport=false

from rocket_conformance.store_verdict.judgement import StoreVerdict, judge_store, store_report, verdict_lines
from rocket_conformance.store_verdict.observations import Observations
from rocket_conformance.store_verdict.restart_judge import judge_crashes, judge_restart
