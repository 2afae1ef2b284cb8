"""Verdicts: on one answer, and on a run."""

from rocket_conformance.judging.judgement import Judgement, disagreement, judge
from rocket_conformance.judging.verdicts import FAILING, INTERRUPTED, VERDICTS, Verdict, exit_code, is_failing

__all__ = [
    "FAILING",
    "INTERRUPTED",
    "VERDICTS",
    "Judgement",
    "Verdict",
    "disagreement",
    "exit_code",
    "is_failing",
    "judge",
]
