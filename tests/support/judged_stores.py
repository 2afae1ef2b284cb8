"""Judges the store in a directory, as `conform --store` does."""

from pathlib import Path
from typing import Any

from rocket_columnar.audit import audited
from rocket_columnar.facts import Store
from rocket_conformance import store_verdict
from rocket_conformance.store_verdict import Observations, StoreVerdict
from rocket_conformance.workload import Manifest


def judge_store(
    path: Path, *, manifest: Manifest | None = None, seen: Observations | None = None, **known: Any
) -> StoreVerdict:
    """The verdict on a store; `known` is what `Store` is given of it."""
    return store_verdict.judge_store(Store(path, **known), audited, manifest=manifest, seen=seen)
