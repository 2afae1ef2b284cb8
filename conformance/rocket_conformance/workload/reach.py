"""The clauses that no workload brings out, each with the reason.

    python -m rocket_conformance.workload.reach

writes docs/workload-clauses.md of the checkout.
"""

from __future__ import annotations

from typing import Final

from rocket_spec.clauses import clauses
from rocket_spec.data import find_data

__all__ = ["BY_CHANCE", "OUT_OF_REACH", "page", "reached"]

BY_CHANCE: Final = "by chance: "
"""Beginning of the reasons of clauses that a kill at the right moment does bring out."""

OUT_OF_REACH: Final = {
    "IDX-FILE-3": "needs a geometry whose size wraps at 2^31, with which a broker is not started",
    "IDX-FILE-4": "needs an index file whose name is no time, which no broker makes",
    "IDX-FILE-5": "a mapping that is opened and not read leaves nothing in the store",
    "IDX-PUT-4": "needs a clock that steps back, or 68 years between two messages of a file",
    "IDX-PUT-5": "needs a damaged slot",
    "IDX-PUT-9": "needs a file shorter than its geometry",
    "IDX-PUT-10": "needs zero slots",
    "IDX-PUT-11": "by chance: needs a kill between two of its writes",
    "IDX-SEL-5": "needs a damaged entry",
    "IDX-SEL-8": "needs a file shorter than its geometry",
    "IDX-SEL-10": "needs zero slots",
    "IDX-SEL-11": "UNSPECIFIED: such a select never ends",
    "IDX-LOAD-2": "needs a file that was made and neither flushed nor written to before a kill",
    "IDX-FLUSH-1": "4.9.3 flushes only full files, whose headers are complete in the file before",
    "IDX-SVC-10": "no client and no batch sends an empty unique key: a property without a value is dropped",
    "IDX-SVC-12": "the client reports a rejected query and a query without messages alike",
    "IDX-SVC-16": "needs zero slots, or a damaged file",
    "IDX-SVC-17": "needs messages older than the hours that a broker keeps them",
    "IDX-SVC-19": "needs a file that cannot be created",
    "IDX-SVC-20": "UNSPECIFIED",
    "CQ-UNIT-2": "needs a queue that begins late: its files deleted, or expired",
    "CQ-EXT-5": "needs a damaged ext unit",
    "CQ-EXT-6": "by chance: needs a kill between an ext unit and its unit",
    "CQ-EXT-7": "by chance: needs a kill between a unit and the progress of dispatch",
    "CQ-EXT-8": "needs a damaged ext unit, with which a broker does not start",
    "CQ-EXT-9": "needs a unit longer than an ext file",
    "CQ-EXT-10": "needs consumers with SQL92 subscriptions, whose filters are not in the store",
    "CQ-LOAD-2": "needs a file whose name is no number, with which a broker does not start",
    "CQ-PUT-2": "needs a record with a logical offset that is taken, which a broker does not assign",
    "CQ-PUT-3": "needs a gap in the logical offsets, which a broker does not assign",
    "CQ-PUT-4": "needs a second message with the logical offset 0 in a queue, which only a deleted queue gives",
    "CQ-PUT-6": "needs a queue that begins late: its files deleted, or expired",
    "CQ-PUT-8": "needs logical offsets near 2^63",
    "CQ-PUT-10": "needs a disk that refuses writes",
    "CQ-PUT-11": "needs a store that is not writable",
    "CQ-REC-1": "the files before the third from the end are as valid as the others: reading them changes nothing",
    "CQ-REC-4": "needs a stop at the moment when the last file is full to its end",
    "CQ-TRUNC-1": "needs units of records that a crash lost: the page cache survives a killed process",
    "CQ-TRUNC-2": "needs units of records that a crash lost: the page cache survives a killed process",
    "CQ-TRUNC-3": "needs a damaged unit",
    "CQ-TRUNC-4": "a queue without files leaves nothing in the store",
    "CQ-TRUNC-5": "needs a queue that begins late: its files deleted, or expired",
    "CQ-TRUNC-6": "UNSPECIFIED: such a truncation never ends",
    "CQ-TRUNC-7": "needs units of records that a crash lost: the page cache survives a killed process",
    "CQ-MIN-1": "the minimum is 0 until the log expires",
    "CQ-MIN-2": "needs a queue that begins late: its files deleted, or expired",
    "CQ-MIN-3": "needs messages older than the hours that a broker keeps them",
    "CQ-DEL-1": "needs messages older than the hours that a broker keeps them",
    "CQ-TIME-1": "the modification time that a file had at the question is not in the store; each file's answer is accepted",
    "CQ-LAST-1": "only expiry asks for it, of messages older than the hours that a broker keeps them",
    "CQ-LAST-2": "only expiry asks for it, of messages older than the hours that a broker keeps them",
    "CQ-LMQ-4": "needs messages for light queues before and after a restart, of which 4.9.3 loses the later ones: not sent",
    "CQ-LMQ-5": "stops all dispatch of the broker: not sent",
    "LOG-REC-9": "a client refuses topics of other characters than ASCII, whose length in characters and bytes is the same",
    "LOG-PROP-7": "stops all dispatch of the broker: not sent",
    "LOG-DSP-6": "needs a damaged record",
    "LOG-DSP-9": "needs messages older than the hours that a broker keeps them",
    "LOG-DSP-10": "needs a damaged record",
    "LOG-DSP-11": "needs a damaged record",
    "LOG-DSP-14": "stops all dispatch of the broker: not sent",
    "LOG-DSP-15": "ends the dispatch thread of the broker: not sent",
    "LOG-DSP-16": "needs a damaged record",
    "LOG-DSP-17": "needs consumers with SQL92 subscriptions, whose filters are not in the store",
    "LOG-DSP-18": "stops all dispatch of the broker: not sent",
    "QRY-4": "needs a damaged record",
    "STORE-1": "the order of loading leaves nothing in a healthy store",
    "STORE-3": "needs a file of another length, with which a broker does not start",
    "STORE-4": "needs a folder that no broker makes",
    "STORE-5": "needs an index that does not load",
    "STORE-7": "needs a damaged body",
    "STORE-8": "needs a torn record: the page cache survives a killed process",
    "STORE-9": "needs units of records that a crash lost: the page cache survives a killed process",
    "STORE-10": "needs a log whose files were all deleted",
    "STORE-15": "by chance: needs a kill between storing and dispatching a delayed message",
    "STORE-16": "needs a damaged record",
    "STORE-17": "`conform --store` takes such a store with --commitlog; a broker of 4.9.3 with several directories needs several disks to be of use",
    "STORE-18": "needs a broker that copies to another store",
    "STORE-19": "needs messages older than the hours that a broker keeps them",
    "STORE-20": "the command deletes the queues of every unused topic of the broker: not sent",
    "STORE-21": "needs a deletion during a query, within microseconds",
    "DLG-8": "needs several members, whose stores are judged one by one",
    "DLG-10": "needs entries that no majority holds",
    "DLG-12": "the minimum offset is 0 until the log expires",
    "DLG-14": "needs a broker that is switched to DLedger mode between two starts",
    "DLG-15": "needs a group without a leader",
    "DLG-18": "needs entries after the log's end, which another leader makes",
    "DLG-19": "needs a missing file, with which a broker does not start",
    "DLG-20": "needs a missing file",
}
"""Clause and reason, in the order of SPEC.md."""


def reached() -> list[str]:
    """The other clauses, in the order of SPEC.md: a workload exercises them, some only with kills or in DLedger mode."""
    return [clause for clause in clauses() if clause not in OUT_OF_REACH]


def page() -> str:
    """The text of docs/workload-clauses.md."""
    every = clauses()
    lines = [
        "# Which clauses a workload exercises",
        "",
        "Made by `python -m rocket_conformance.workload.reach`; not to be edited.",
        "",
        f"A workload exercises {len(reached())} of the {len(every)} clauses: over the settings of",
        "[Judge a broker without an adapter](judge-a-store.md), with kills, and with a broker in DLedger mode. No client can bring",
        f"out the other {len(OUT_OF_REACH)}.",
        "",
        "## Exercised",
        "",
        "| Clause | Level | |",
        "|---|---|---|",
        *(f"| {name} | {every[name].level} | {_cell(every[name].summary)} |" for name in reached()),
        "",
        "## Out of reach",
        "",
        "| Clause | Level | Reason |",
        "|---|---|---|",
        *(f"| {name} | {every[name].level} | {_cell(reason)} |" for name, reason in OUT_OF_REACH.items()),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Writes the page."""
    docs = find_data("spec/SPEC.md").parents[1] / "docs"
    (docs / "workload-clauses.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
