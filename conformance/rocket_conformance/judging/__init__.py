"""Verdicts: on one answer, and on a run."""
# pyright: reportUnusedImport=false

from rocket_conformance.judging.trial import (
    FAILING,
    INTERRUPTED,
    VERDICTS,
    Trial,
    Verdict,
    disagreement,
    disputed_at,
    exit_code,
)
