"""Judges the clauses of a store by the findings of its audit."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from rocket_spec.deviations import Audited, AuditFinding, Deviation, StorePart
from rocket_spec.layout import CHECKPOINT_SIZE

from rocket_conformance.store_verdict.index_bytes import StoredIndex
from rocket_conformance.store_verdict.misread import reading_that_builds, wrong_key
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import StoredLog, store_of

_LEFT_TO_AUDIT: Final = ("BCQ-", "CFG-", "STORE-")
"""Beginnings of clauses that are not judged by findings."""

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
        facts: of the store.
        audited: its audit.
        seen: takes what is observed.
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
        """Takes down the findings on a part of the store."""
        for found in self._audited.findings:
            clause = "LOG-REC-3" if found.clause == _LONGER_THAN_MEMORY else found.clause
            if clause is None or clause.startswith(_LEFT_TO_AUDIT):
                continue
            if found.part == part and found.code not in left_out:
                self._take(found, clause, seen, files)

    def _take(
        self, found: AuditFinding, clause: str, seen: Observations, files: Sequence[StoredIndex]
    ) -> None:
        """Takes down one finding, on a clause."""
        deviation = found.deviation
        if not self._is_whole and found.code in _BY_RECORDS:
            return  # what follows the damage is unknown
        if deviation is not None and deviation.record in self._torn and found.code != "log.torn":
            return
        if found.code == "log.torn" and not self._facts.clean:
            self._seen.note(found.message)
            return
        if deviation is None:
            if found.severity == "note" or found.code == "queue.empty":
                seen.note(found.message)
            elif self._is_whole and found.code != "index.missing_key":  # which no walk reaches
                name = found.code.replace(".", " ").replace("_", " ")
                seen.breaks(
                    clause, Place(found.file, found.offset, name, found.message, "as 4.9.3 writes it")
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
