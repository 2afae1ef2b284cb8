"""What other RocketMQ versions do differently: surveyed with the real jars, kept beside the spec.

    python -m tools.versions

runs the suite on the store of each release and writes `spec/versions.json` and, from it, `spec/VERSIONS.md`.
"""

from rocket_conformance.rocketmq import RELEASES, Differs, First, Release, Survey, read_survey

from tools.versions._page import render
from tools.versions._survey import (
    EXAMPLES,
    SEED,
    inputs_digest,
    survey_all,
    survey_release,
    survey_to_json,
)
