"""A whole store: log, index files, consume queues and checkpoint, clause by clause."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rocket_spec.clauses import clauses
from rocket_spec.errors import MalformedError
from rocket_spec.profiles import later_profile

from rocket_conformance.store_verdict.findings_judge import FindingsJudge
from rocket_conformance.store_verdict.index_bytes import read_indexes
from rocket_conformance.store_verdict.log_reading import read_log, refuse_log
from rocket_conformance.store_verdict.observations import Observations
from rocket_conformance.store_verdict.stored_log import Audit, store_of
from rocket_conformance.store_verdict.workload_judge import (
    first_undisturbed,
    judge_known_flush,
    judge_workload,
)
from rocket_conformance.workload import Manifest

Outcome = Literal["held", "broken", "not exercised"]


@dataclass(frozen=True, slots=True)
class StoreVerdict:
    """The verdict on a store, clause by clause.

    Attributes:
        store: its path, as given.
        stopped: whether the broker stopped cleanly: there is no file `abort`.
        records: number of records in its log.
        observations: what was compared.
    """

    store: str
    stopped: bool
    records: int
    observations: Observations

    def outcome(self, clause: str) -> Outcome:
        """Of one clause: broken anywhere is broken."""
        if clause in self.observations.broken:
            return "broken"
        return "held" if self.observations.held[clause] else "not exercised"

    def with_outcome(self, outcome: Outcome) -> list[str]:
        """The clauses of one outcome, in the order of SPEC.md."""
        return [clause for clause in clauses() if self.outcome(clause) == outcome]


def judge_store(
    facts: Any, audit: Audit, *, manifest: Manifest | None = None, seen: Observations | None = None
) -> StoreVerdict:
    """Judges a store by its own commit log, plain or of DLedger mode.

    The log is taken as what was stored. Index files, consume queues, ext units and the checkpoint are compared with what
    4.9.3 makes of it. What a crash leaves open is accepted either way and noted.

    Args:
        facts: of the store, as the engine's `Store` has them.
        audit: the engine's audit, for judges.
        manifest: of a workload that was sent to its broker; each acknowledged message and each answer is judged too.
        seen: earlier observations, such as those of starts after crashes; it is added to, and gets the release that the files
            show, if none is known.

    Raises:
        UsageError: a geometry that cannot be inferred, or several DLedger members.
        MalformedError: no commit log to judge by, or one beyond 64 bits.
        OSError: when a file cannot be read, or the disk has no room for temporary files.
    """
    store = store_of(facts)
    if not facts.logs and not (store / "commitlog").is_dir():
        raise MalformedError(
            file=facts.name,
            found="no folder commitlog",
            expected="commitlog/ or dledger-*/data/, which hold what was stored",
        )
    seen = Observations() if seen is None else seen
    refuse_log(facts)
    indexes = read_indexes(facts, store)
    audited = audit(facts)
    if facts.release is None and facts.signs:
        seen.profile = later_profile(tags="tags" in audited.signs)
    records = audited.held["LOG-REC-1"]
    is_damaged = any(found.part == "log" for found in audited.findings)
    if not records and not is_damaged:
        return StoreVerdict(facts.name, facts.clean, 0, seen)  # a log without records exercises nothing
    read = cache(lambda: read_log(facts, seen if facts.framed else Observations(profile=seen.profile)))
    undisturbed = None if manifest is None else first_undisturbed(manifest)
    judge = FindingsJudge(facts, audited, seen, read, undisturbed_from=undisturbed)
    judge.judge_log()
    if facts.framed and records:
        records = len(read().records)
    if records:
        judge.judge_indexes(indexes)
        judge.judge_queues()
        judge.judge_checkpoint()
    else:
        seen.note("index, queues, checkpoint and answers are not judged: no record of the log can be read")
    if manifest is not None and records:
        judge_known_flush(manifest, facts.checkpoint_times[0], read(), seen)
        judge_workload(manifest, read(), indexes, seen, enabled=facts.index_enabled)
    return StoreVerdict(facts.name, facts.clean, records, seen)
