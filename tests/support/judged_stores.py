"""Judges the store in a directory, as `conform --store` does; the acknowledgement of a stored message."""

import zlib
from pathlib import Path
from typing import Any

from rocket_columnar.audit import audited
from rocket_columnar.facts import Store
from rocket_conformance import store_verdict
from rocket_conformance.store_verdict import Observations, StoreVerdict
from rocket_conformance.workload import Manifest, Sent


def judge_store(
    path: Path, *, manifest: Manifest | None = None, seen: Observations | None = None, **known: Any
) -> StoreVerdict:
    """The verdict on a store; `known` is what `Store` is given of it."""
    return store_verdict.judge_store(Store(path, **known), audited, manifest=manifest, seen=seen)


def sent_of(log: Any, stored: Any) -> Sent:
    """The acknowledgement of a record of a `StoredLog` as it should be."""
    fields, request = log.row_of(stored), stored.request
    return Sent(
        topic=request.topic,
        queue=request.queue_id,
        queue_offset=request.consume_queue_offset,
        phy_offset=stored.position,
        unique_key=request.uniq_key or "",
        keys=request.keys or "",
        body_size=len(fields.body),
        kind="send",
        body_crc=zlib.crc32(fields.body),
        properties={"KEYS": request.keys or ""},
        store_host=fields.store_host,
    )
