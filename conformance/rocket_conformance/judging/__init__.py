"""Verdicts: on one answer, and on a run."""
# pyright: reportUnusedImport=false

from rocket_conformance.judging.judgement import Judgement, disagreement, judge
from rocket_conformance.judging.verdicts import FAILING, INTERRUPTED, VERDICTS, Verdict, exit_code
