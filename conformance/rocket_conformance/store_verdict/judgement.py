"""The verdict on a whole store, clause by clause: log, index files, consume queues and checkpoint, and the report on it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from rocket_spec.clauses import clauses
from rocket_spec.deviations import Audited, AuditFinding, Deviation, StorePart
from rocket_spec.errors import MalformedError
from rocket_spec.layout import CHECKPOINT_SIZE
from rocket_spec.printable import counted
from rocket_spec.profiles import later_profile

from rocket_conformance.judging import Verdict
from rocket_conformance.protocol import Hello
from rocket_conformance.report import (
    Baseline,
    CaseLine,
    Report,
    ReportWriter,
    footer_line,
    header_line,
    known_text,
    release_text,
)
from rocket_conformance.store_verdict.misread import reading_that_builds, wrong_key
from rocket_conformance.store_verdict.observations import Observations, Place, StoredIndex, read_indexes
from rocket_conformance.store_verdict.stored_log import Audit, StoredLog, read_log, refuse_log, store_of
from rocket_conformance.store_verdict.workload_judge import (
    first_undisturbed,
    judge_known_flush,
    judge_workload,
)
from rocket_conformance.workload import Manifest

_LEFT_TO_AUDIT: Final = ("BCQ-", "CFG-", "STORE-")
"""Beginnings of clauses that are not judged by findings."""

_LEFT_OUT: Final = "CQ-PUT-2"
"""By which a put leaves out a message: a finding on that says that it holds."""

_LONGER_THAN_MEMORY: Final = "STORE-16"
"""About a size that no record has, which is LOG-REC-3 here."""

_BY_RECORDS: Final = {"queue.missing_unit", "queue.dangling", "index.missing_key", "index.entry_dangling"}
"""Codes of findings that follow from damage of the log, too."""

_OF_LOG: Final = {"log.gap", "log.length", "log.magic", "log.position", "log.torn"}
"""Codes of findings after which it is unknown what was stored."""

_OF_SLOTS: Final = {"IDX-HASH-3", "IDX-HDR-4", "IDX-PUT-6", "IDX-PUT-7"}
"""Clauses that entries in other slots seem to break."""

_OF_OFFSETS: Final = ("IDX-HDR-2", "IDX-HDR-3", "IDX-SVC-2", "IDX-SVC-8")
"""Clauses that entries with other offsets seem to break."""

_OF_STARTS: Final = {"DLG-13", "LOG-DSP-13", "STORE-15"}
"""Clauses that hold where what a start leaves is found."""

_NAMED: Final = re.compile(r"\b[A-Z0-9]+(?:-[A-Z]+)?-[0-9]+\b")


class FindingsJudge:
    """Judges the clauses by the findings of an audit.

    Args:
        read: reads the log, which takes long; only what the findings do not show needs it.
        undisturbed_from: offset of the first record since which the broker has not been restarted; None where that is
            unknown.
    """

    def __init__(
        self,
        facts: Any,
        audited: Audited,
        seen: Observations,
        read: Callable[[], StoredLog],
        *,
        undisturbed_from: int | None = None,
    ) -> None:
        self._facts = facts
        self._store = store_of(facts)
        self._audited = audited
        self._seen = seen
        self._read = read
        self._undisturbed_from = undisturbed_from
        self._is_whole = not any(
            found.code in _OF_LOG and found.severity != "note" for found in audited.findings
        )
        torn = (found.deviation for found in audited.findings if found.code == "log.torn")
        self._torn = {values.record for values in torn if values is not None and values.record is not None}
        for clause, count in (+audited.held).items():
            seen.hold(clause, count=count)

    def judge_log(self) -> None:
        """Judges the files of the commit log."""
        self._judge("log", self._seen)

    def judge_checkpoint(self) -> None:
        """Judges the file `checkpoint`."""
        if (self._store / "checkpoint").is_file():
            self._seen.hold("CKP-1")
            self._judge("checkpoint", self._seen)
        else:
            self._seen.breaks("CKP-2", Place("checkpoint", None, "length", "no file", CHECKPOINT_SIZE))

    def judge_queues(self) -> None:
        """Judges the files of `consumequeue/` and `consumequeue_ext/`."""
        own = Observations(profile=self._seen.profile)
        self._judge("queue", own)
        if "CQ-EXT-4" in own.broken:
            own.leave_out(("CQ-EXT-1", "CQ-EXT-2"), "addresses of ext units, which may follow from the files")
        self._seen.add(own)
        if any(found.code == "store.lag" for found in self._audited.findings):
            self._seen.note("messages at the log's end that are not dispatched yet")
        folder = self._store / "batchconsumequeue"
        if folder.is_dir():
            names = ", ".join(sorted(path.name for path in folder.iterdir()))
            self._seen.note(f"not judged: the batch queues of {names}, which audit checks")

    def judge_indexes(self, files: Sequence[StoredIndex]) -> None:
        """Judges the files of `index/`, in the order of their names."""
        if not files:
            if self._facts.index_enabled:
                self._judge_no_index()
            return
        own = Observations(profile=self._seen.profile)
        unread = any(found.code == "index.size" for found in self._audited.findings)
        self._judge("index", own, files, ("index.missing_key",) if unread or self._is_exchanged() else ())
        self._judge_tags(own)
        reading = reading_that_builds(files, self._read(), own.broken) if own.broken else None
        if reading is not None:
            own.explain(reading.clause, reading.rule)
        elif "IDX-HASH-3" in own.broken and own.broken.keys() <= _OF_SLOTS:
            own.explain("IDX-HASH-3", "another slot for a key hash")
        elif any(place.field.endswith("phy_offset") for place in own.broken.get("IDX-PUT-6", ())):
            note = "header values and missing keys, which may follow from wrong offsets of entries"
            own.leave_out(_OF_OFFSETS, note)
        self._seen.add(own)

    def _is_exchanged(self) -> bool:
        """Whether each missing key can have the entry of a wrong one in its place."""
        counts = Counter[str]()
        for found in self._audited.findings:
            if found.deviation is not None and not found.deviation.allowed:
                counts[found.code] += found.deviation.count
        return 0 < counts["index.missing_key"] <= counts["index.entry_wrong_key"]

    def _judge_tags(self, own: Observations) -> None:
        """Judges whether there are entries of tags, which the release writes or does not (IDX-SVC-2)."""
        found, expected = "tags" in self._audited.signs, own.rules.has_tag_keys
        if found == expected:
            return
        if found or any("TAGS" in (stored.request.properties or {}) for stored in self._read().records):
            texts = {True: "found", False: "none"}
            own.breaks("IDX-SVC-2", Place("index", None, "entries of tags", texts[found], texts[expected]))

    def _judge_no_index(self) -> None:
        """Any record that is dispatched makes an index file, one without keys too (IDX-SVC-7)."""
        if self._facts.clean and not self._facts.framed:
            self._seen.breaks("IDX-SVC-7", Place("index", None, "index files", "none", "at least one"))
            return
        text = "no index file: the records are not indexed yet, or an unclean restart deleted it (IDX-SVC-6)"
        self._seen.note(text)

    def _judge(
        self,
        part: StorePart,
        seen: Observations,
        files: Sequence[StoredIndex] = (),
        left_out: Sequence[str] = (),
    ) -> None:
        for found in self._audited.findings:
            clause = "LOG-REC-3" if found.clause == _LONGER_THAN_MEMORY else found.clause
            if clause is None or clause.startswith(_LEFT_TO_AUDIT):
                continue
            if found.part == part and found.code not in left_out:
                self._take(found, clause, seen, files)

    def _take(
        self, found: AuditFinding, clause: str, seen: Observations, files: Sequence[StoredIndex]
    ) -> None:
        deviation = found.deviation
        if not self._is_whole and found.code in _BY_RECORDS:
            return  # what follows the damage is unknown
        if deviation is not None and deviation.record in self._torn and found.code != "log.torn":
            return
        if found.code == "log.torn" and not self._facts.clean:
            self._seen.note(found.message)
            return
        if deviation is None:
            if found.severity == "note" or found.code == "queue.empty" or clause == _LEFT_OUT:
                seen.note(found.message)
            elif self._is_whole and found.code != "index.missing_key":  # which no walk reaches
                name = found.code.replace(".", " ").replace("_", " ")
                seen.breaks(
                    clause,
                    Place(
                        found.file,
                        found.offset,
                        name,
                        found.message.removeprefix("found "),
                        "as 4.9.3 writes it",
                    ),
                )
            return
        if deviation.allowed and not self._is_undisturbed(deviation):
            names = set(_NAMED.findall(deviation.allowed)) & _OF_STARTS
            seen.hold(*names, count=deviation.count)
            seen.note(deviation.allowed)
            return
        if found.code == "index.entry_wrong_key" and clause == "IDX-SVC-2":
            clause, place = wrong_key(found, files, self._read())
        else:
            record = "" if deviation.record is None else f"record at {deviation.record:,}"
            values = deviation.field, deviation.found, deviation.expected
            place = Place(found.file, found.offset, *values, record)
        seen.breaks(clause, place, count=deviation.count)

    def _is_undisturbed(self, deviation: Deviation) -> bool:
        """Whether the broker is known not to have been restarted since the record behind a deviation was stored."""
        record = deviation.record
        return self._undisturbed_from is not None and record is not None and record >= self._undisturbed_from


# --- the whole store -----------------------------------------------------------------------------------

Outcome = Literal["held", "broken", "not exercised"]


@dataclass(frozen=True, slots=True)
class StoreVerdict:
    """The verdict on a store, clause by clause."""

    store: str  # its path, as given
    stopped: bool  # whether the broker stopped cleanly: there is no file `abort`
    records: int  # number of records in its log
    observations: Observations  # what was compared

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

    Raises UsageError: a geometry that cannot be inferred, or several DLedger members.
    Raises MalformedError: no commit log to judge by, or one beyond 64 bits.
    Raises OSError: when a file cannot be read, or the disk has no room for temporary files.
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


# --- report --------------------------------------------------------------------------------------------

FAMILIES: Final = {
    "index": ("IDX-",),
    "service": ("IDX-SVC-",),
    "queue": ("CQ-",),
    "log": ("LOG-", "DLG-"),
    "checkpoint": ("CKP-",),
}
"""The clauses of the families that `--require` names, by the beginnings of their ids."""

_VERDICTS: Final[dict[Outcome, Verdict]] = {
    "held": "pass",
    "broken": "diverged",
    "not exercised": "not_applicable",
}
_SHOWN: Final = 3


def store_report(
    judged: StoreVerdict,
    *,
    level: str = "observed",
    require: Sequence[str] = (),
    baseline: Baseline | None = None,
    folder: Path | None = None,
) -> Report:
    """The report of a judged store, written to `folder` if one is given.

    A clause is a case `CLAUSE/store`: pass where it held, not applicable where the store does not exercise it. A broken one is a
    diverged case `CLAUSE/store-KIND` for each kind of place, by the field or the wrong reading: a baseline excuses one kind.
    "must" leaves OBSERVED clauses out; of each family in `require` at least one clause has to be exercised.
    """
    excuses = baseline or Baseline()
    hello = Hello("store", judged.store, "", frozenset(), None, frozenset(), 1)
    header = header_line(hello, ["--store", judged.store], 0, 0, judged.observations.profile.version)
    levels = {"MUST"} if level == "must" else {"MUST", "OBSERVED"}
    compared = [clause for clause in clauses().values() if clause.level in levels]
    lines = [line for clause in compared for line in _lines(judged, clause.id, clause.level, excuses)]
    exercised = [*judged.with_outcome("held"), *judged.with_outcome("broken")]
    families = [
        family for family, heads in FAMILIES.items() if any(clause.startswith(heads) for clause in exercised)
    ]
    missing = [family for family in require if family not in families]
    more = {"ops": [], "families": families, "narrowed": ["--level must"] if level == "must" else []}
    footer = footer_line(lines, excuses, missing=missing, cut_short=None, more=more)
    report = Report(header, tuple(lines), footer)
    with ReportWriter(folder) as writer:
        for line in report.to_lines():
            writer.write(line)
    return report


def _lines(judged: StoreVerdict, clause: str, level: str, excuses: Baseline) -> Iterator[CaseLine]:
    seen = judged.observations
    verdict = _VERDICTS[judged.outcome(clause)]
    held = seen.held[clause]
    if verdict != "diverged":
        detail = "" if held else "not exercised by this store"
        yield CaseLine(f"{clause}/store", (clause,), level, verdict, examples=held, detail=detail)
        return
    for kind, count in seen.kinds[clause].items():
        name = f"{clause}/store-{kind}"
        places = [place for place in seen.broken[clause] if place.kind == kind]
        others = f", and {counted(count - 1, 'more place')}" if count > 1 else ""
        line = CaseLine(
            id=name,
            clauses=(clause,),
            level=level,
            verdict=verdict,
            examples=held + count,
            detail=f"{places[0]}{others}; held in {counted(held, 'place')}",
            divergence=tuple(_divergence(clause, place) for place in places),
        )
        yield replace(line, baselined=excuses.excuses(line))


def _divergence(clause: str, place: Place) -> dict[str, Any]:
    return {
        "op": None,
        "field": place.field,
        "file": place.file,
        "offset": place.offset,
        "kind": "wrong bytes",
        "expected": _plain(place.expected),
        "actual": _plain(place.found),
        "clause": clause,
    }


def _plain(value: object) -> object:
    return value if isinstance(value, int | str | None) else str(value)


def verdict_lines(judged: StoreVerdict, report: Report) -> list[str]:
    """The output on a terminal: the broken clauses with their first places, notes, and the verdict last."""
    seen = judged.observations
    found: list[str] = []
    for line in report.cases:
        if line.verdict != "diverged":
            continue
        known = ", known" if line.baselined else ""
        clause, kind = line.clauses[0], line.id.partition("/store-")[2]
        found.append(
            f"broken {clause} ({line.level}{known}): {counted(seen.kinds[clause][kind], 'place')}, held in {seen.held[clause]:,}"
        )
        places = (place for place in seen.broken[clause] if place.kind == kind)
        found += [f"  {place}" for place in islice(places, _SHOWN)]
    found += [
        f"note: {text}" + (f" ({count:,} times)" if count > 1 else "") for text, count in seen.notes.items()
    ]
    return [*found, _conclusion(judged, report)]


def _conclusion(judged: StoreVerdict, report: Report) -> str:
    held = sum(line.verdict == "pass" for line in report.cases)
    broken = [line for line in report.cases if line.verdict == "diverged"]
    rest = len(report.cases) - held - len(broken)
    number = len({line.clauses for line in broken})
    counts = f"{counted(held, 'clause')} held, {number} broken, {rest} not exercised, by {counted(judged.records, 'record')}"
    if not held and not broken:
        return f"no verdict: the store exercises no clause ({counts})"
    failing = list(dict.fromkeys(line.clauses[0] for line in broken if not line.baselined))
    footer = report.footer or {}
    if failing:
        return f"not conformant{release_text(report)}: {', '.join(failing)} ({counts})"
    if footer.get("stale"):
        return f"no verdict: the baseline is stale: {'; '.join(footer['stale'])} ({counts})"
    if footer.get("missing"):
        return f"incomplete: required and not exercised: {', '.join(footer['missing'])} ({counts})"
    if known := known_text(report):
        return f"conformant{release_text(report)} but for {known} ({counts})"
    if footer["narrowed"]:
        return f"partial run: as {report.profile} in every MUST clause that the store exercises ({counts}; OBSERVED behaviour was not tested)"
    return f"conformant{release_text(report)} in every clause that the store exercises ({counts})"
