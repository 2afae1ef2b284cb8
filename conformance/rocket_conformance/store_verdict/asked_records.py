"""The records that a manifest asks for, found in one pass over the log."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocket_reference import key_hash

if TYPE_CHECKING:
    from rocket_conformance.store_verdict.stored_log import StoredLog
    from rocket_conformance.store_verdict.stored_record import StoredRecord
    from rocket_conformance.workload import Manifest

__all__ = ["AskedRecords", "records_asked_for"]


@dataclass(frozen=True, slots=True)
class AskedRecords:
    """Records of a log, as many as a manifest asks for.

    Attributes:
        by_id: by topic and unique key.
        by_keys: positions, by topic and the whole of KEYS, of messages that had to be refused.
        times_of_hash: store timestamps by key hash, ms.
    """

    by_id: defaultdict[tuple[str, str], list[StoredRecord]] = field(default_factory=lambda: defaultdict(list))
    by_keys: defaultdict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    times_of_hash: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def records_asked_for(manifest: Manifest, log: StoredLog) -> AskedRecords:
    """The records of acknowledged messages and of those that questions are about."""
    found = AskedRecords()
    ids = {(sent.topic, sent.unique_key) for sent in manifest.sent}
    refused = {(answer["topic"], answer["key"]) for answer in manifest.answers if answer["do"] == "refused"}
    hashes = {
        key_hash(f"{answer['topic']}#{answer['key']}")
        for answer in manifest.answers
        if answer["do"] == "query"
    }
    for stored in log.records:
        request = stored.request
        pair = request.topic, request.uniq_key or ""
        if pair in ids:
            found.by_id[pair].append(stored)
        if (request.topic, request.keys or "") in refused:
            found.by_keys[request.topic, request.keys or ""].append(stored.position)
        for hashed in hashes.intersection(stored.hashes):
            found.times_of_hash[hashed].append(request.store_timestamp)
    return found
