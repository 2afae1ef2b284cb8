"""The relations between verbs: each a function that yields where one store contradicts it."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from every_store import Subject, hash_of, units_in
from incident_run import recorded
from rocket_columnar.decode import decode
from rocket_columnar.describe import compare_configurations, compare_stores, digest, look_at, store_digest
from rocket_columnar.query import OpenStore
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit
from rocket_columnar.restart import Restart
from rocket_reference import JavaError
from rocket_reference.query_message import query_message
from rocket_spark import JobStore
from rocket_spark.fleet import audit_task
from rocket_spark.stores import store_tasks
from rocket_spec.errors import FormatError, UsageError

Relation = Callable[[Subject], Iterator[str]]

_REFUSES: Final = re.compile("refuses to start|does not start|never returns")
_STOPS: Final = re.compile("recovery stop here|a recovery (cuts|truncates) the log here")
_PASSES: Final = re.compile("goes on after it")
_HEAD: Final = 128
"""Bytes in which the fields are that a finding on a record names, and its entry's header."""
_RECORD: Final = re.compile(r"physical offset [\d,]*\d")
_ASKED: Final = 40
"""Keys that are asked of one store."""
_END: Final = (1 << 63) - 1


def a_finding_states_that_no_broker_starts(subject: Subject) -> Iterator[str]:
    """`audit` has a finding that states that a broker does not start exactly if `audit --restart` refuses the start."""
    if subject.start is None:
        return
    stated = [one for one in subject.report if one.severity != "note" and _REFUSES.search(one.message)]
    if bool(stated) != bool(subject.start.refused):
        yield f"audit: {[one.code for one in stated]}, --restart: {subject.start.refused}"


def a_finding_states_where_a_start_ends_the_log(subject: Subject) -> Iterator[str]:
    """`audit` states that a recovery stops at a place of the log, or goes on after it, as the walk does that `audit --restart` predicts, and has a finding on the log where that leaves records out."""
    start = subject.start
    if start is None or start.refused or subject.store.has_no_log:
        return
    begins = {file.name: file.base_offset for file in subject.store.logs}
    found = [one for one in subject.report if one.file in begins and one.severity != "note"]
    for one in found:
        at = begins[one.file] + (one.offset or 0)
        ends = start.walk_from <= at < start.log_end and _STOPS.search(one.message)
        if ends or (0 <= at - start.log_end < _HEAD and _PASSES.search(one.message)):
            yield f"{one.file} at {one.offset}: {one.message}, --restart: {start.walk_from} to {start.log_end}"
    if start.unread and not any(one.code.startswith("log.") for one in subject.report):
        yield f"--restart leaves out {start.unread} bytes of the log, audit: {subject.faults}"


def the_reference_starts(subject: Subject) -> Iterator[str]:
    """`audit --restart` refuses a start exactly if the reference's start on the files fails or never ends."""
    if (
        subject.start is None
        or not subject.has_reference
        or subject.store.config_refusal
        or _configured(subject)
    ):
        return
    if subject.left.starts == bool(subject.start.refused):
        yield f"--restart: {subject.start.refused}, the reference starts: {subject.left.starts}"


def _start_of_both(subject: Subject) -> Restart | None:
    """The predicted start, where the reference starts on the same files with the same configuration; else None."""
    start = subject.start
    if start is None or start.refused or not subject.has_reference or not subject.left.starts:
        return None
    return None if _configured(subject) else start


def _configured(subject: Subject) -> bool:
    """Whether a configuration differs from the one with which the files were written."""
    return subject.conf is not None and any(
        one.remedy == "settings" and one.settings for one in subject.report
    )


def the_real_broker_starts(subject: Subject) -> Iterator[str]:
    """`audit --restart` refuses a start exactly if the real broker did not come up in the recorded incident."""
    row = recorded().get(subject.name.removeprefix("incident: "), {})
    if subject.start is None or "nothing" not in row:
        return
    if bool(subject.start.refused) != (row["nothing"] is None):
        yield f"--restart: {subject.start.refused}, the real broker: {row['nothing'] or 'no start'}"


def lost_keys_are_not_found(subject: Subject) -> Iterator[str]:
    """The keys that `audit --restart` states as lost are those that no index file holds after the reference's start."""
    start = _start_of_both(subject)
    if start is None:
        return
    lost = set(zip(start.lost.phy_offset.tolist(), start.lost.key_hash.tolist(), strict=True))
    records = {at for at, _, _ in subject.keys}  # but those that state other offsets
    lost = {(at, key) for at, key in lost if at in records}
    held = {(at, hash_of(topic, key)) for at, topic, key in subject.keys if at < start.log_end}
    gone = held - subject.left.entries
    if lost != gone:
        yield f"--restart: {len(lost)} keys, {sorted(lost - gone)[:3]} are found; {sorted(gone - lost)[:3]} of {len(gone)} are not stated"


def lost_units_are_gone(subject: Subject) -> Iterator[str]:
    """The units that `audit --restart` states as lost are not in their queue after the reference's start."""
    start = _start_of_both(subject)
    if start is None:
        return
    for one in start.lost_units:
        if (one.topic, one.queue_id, one.phy_offset) in subject.left.units:
            yield f"{one} is there"
    if not start.lost_units:
        before = {unit for unit in units_in(subject.store) if unit[2] < start.log_end}
        records = {at for at, _, _ in subject.keys}
        gone = [unit for unit in before - subject.left.units if unit[2] in records]
        if gone:
            yield f"{len(gone)} units are gone, {gone[:3]}, and none is stated"


def failing_pulls_are_stated(subject: Subject) -> Iterator[str]:
    """`audit --restart` states that pulls fail in each file that `audit` names as empty, and of each topic that `audit` and `inspect` find missing."""
    if subject.start is None or subject.start.refused:
        return
    empty, zeros = {one.file for one in subject.report if one.code == "queue.empty"}, {*subject.start.zeros}
    if not empty <= zeros or (zeros and not any(one.code.startswith("queue.") for one in subject.report)):
        yield f"audit: {sorted(empty)}, --restart: {sorted(zeros)}"
    with_queues = subject.store.unlisted.keys()  # those of the log alone are not at a glance
    for report, stated in ((subject.report, subject.start.unlisted.keys()), (subject.glance, with_queues)):
        missing = {one.message.split()[1] for one in report if one.code == "topic.missing"}
        if missing != stated:
            yield f"audit or inspect: {sorted(missing)}, --restart: {sorted(stated)}"


def a_glance_finds_the_same_offsets(subject: Subject) -> Iterator[str]:
    """`inspect` and `audit` find the same offsets of groups and delay levels outside their queues, whatever else is damaged."""
    codes = ("consumer.", "delay.")
    glance, report = (
        {(one.code, one.message) for one in found if one.code.startswith(codes)}
        for found in (subject.glance, subject.report)
    )
    if glance != report:
        yield f"only one of inspect and audit: {sorted(glance ^ report)[:3]}"


def a_safe_start_delivers_all(subject: Subject) -> Iterator[str]:
    """`audit --restart` calls no start safe where `audit` has an error or a warning on files of log, queues or index that stay as they are, or after which the real broker delivered less, but for deleted topics, in the recorded incident; where only queues or index are damaged, it states as many messages as not delivered as that broker left out, or more."""
    start = subject.start
    if start is None or start.refused or subject.store.has_no_log or not subject.store.logs:
        return
    gone = {one.file for one in start.deletions if one.action == "delete"}
    found = {
        one.code
        for one in audit(subject.look())
        if one.severity != "note" and one.part in ("log", "queue", "index") and one.file not in gone
        if one.code not in ("log.torn", "queue.empty", "index.empty")
        and not one.settings
        and one.remedy != "mount"
    }
    if start.safe and found:
        yield f"--restart is safe, audit: {sorted(found)}"
    row = recorded().get(subject.name.removeprefix("incident: "), {})
    deleted = any(one.code == "queue.missing_unit" and one.severity == "note" for one in subject.report)
    if not row.get("nothing") or deleted or any(one.settings for one in subject.report):
        return
    left_out = row["before"][0] - row["nothing"][0]
    others = start.unread or start.missing or start.unlisted or start.lost_units
    if start.safe and left_out:
        yield f"--restart is safe, the real broker left out {left_out} messages"
    is_damaged = any(one.part == "log" and one.severity != "note" for one in subject.report)
    if not others and not is_damaged and start.undelivered < left_out:
        yield f"--restart: {start.undelivered} are not delivered, the real broker left out {left_out}"


NO_CLAUSE: Final = {
    "settings": (
        "the configuration is wrong, not the bytes",
        "incident: the index files of the configuration are smaller",
    ),
    "aside": (
        "a file that a broker made and never wrote to",
        "incident: a full queue has a next file that was never written",
    ),
    "twice": (
        "both files of one name are as a broker writes them",
        "incident: the last log file is in two folders of the log",
    ),
    "config.unreadable": (
        "config/ is no format that is judged",
        "incident: the subscription groups are no JSON, and there is no backup",
    ),
    "consumer.offset_beyond_queue": (
        "config/ is no format that is judged",
        "incident: the consumers' offsets are those of another store",
    ),
    "consumer.offset_below_minimum": (
        "config/ is no format that is judged",
        "incident: DLedger: the first four files were deleted",
    ),
    "topic.missing": (
        "config/ is no format that is judged",
        "incident: the list of topics and its backup were deleted",
    ),
    "store.unreadable": ("permissions and folders in a file's place", "incident: the lock is a folder"),
    "log.gap": (
        "a log may begin anywhere: 4.9.3 deletes its first files when they expire, whatever else refers to them",
        "incident: the first log file was deleted",
    ),
    "index.missing_key": (
        "a start after a kill deletes index files (IDX-SVC-6), and the keys of older messages stay lost (DLG-13)",
        "dledger-group-rejoined",
    ),
    "checkpoint.ahead": (
        "a recovery that cuts off the log's end leaves the checkpoint as it is",
        "small-roll: checkpoint_ahead",
    ),
    "checkpoint.behind": (
        "a start after a kill goes back further, and loses nothing",
        "killed: checkpoint_zeros",
    ),
    "log.torn": ("a kill may leave the last record incomplete", "killed: log_torn"),
    "index.ahead_of_log": (
        "a recovery leaves index entries of records that it cuts off",
        "lmq: log_end_removed",
    ),
    "index.entry_dangling": ("as index.ahead_of_log", "lmq: log_end_removed"),
    "queue.dangling": (
        "a truncation changes no byte of a file that stays (CQ-TRUNC-7)",
        "lmq: log_end_removed",
    ),
}
"""Why the files may break no clause where `audit` has an error or a warning of this code or remedy, and a store that shows it."""
ONLY_NOTED: Final = {
    "index.double_entry": (
        "entries that repeat hide no message, and recoveries leave some; the clauses say which",
        "ipv6: index_double",
    ),
    "store.lag": (
        "the next start dispatches what is left, but a broker that stopped would have done it",
        "incident: after a kill abort was deleted",
    ),
    "CKP-2": (
        "without a checkpoint a start after a kill dispatches the whole log: nothing is lost",
        "incident: the checkpoint was deleted",
    ),
}
"""Why the files may break a clause where `audit` has only a note of this code, or break this clause, and a store that shows it."""


def the_judge_of_stores_agrees(subject: Subject) -> Iterator[str]:
    """`audit` finds nothing wrong exactly if `conform --store` finds no clause broken, but for findings that are no clause of the formats."""
    if subject.base and subject.store.signs:  # two releases wrote it
        return
    faults = [one for one in subject.report if one.severity != "note"]
    if subject.judged is None:
        if not faults:
            yield "the judge refuses a store in which audit finds nothing"
        return
    broken = {*subject.judged.observations.broken}
    # What index and queue hold of a record whose properties a kill lost was right when it was put.
    torn = [at[0] for one in faults if one.code == "log.torn" and (at := _RECORD.search(one.message))]
    told = [
        one
        for one in faults
        if not NO_CLAUSE.keys() & {one.code, one.remedy} and not any(at in one.message for at in torn)
    ]
    noted = any(one.code in ONLY_NOTED for one in subject.report) or broken <= ONLY_NOTED.keys()
    if told and not broken:
        yield f"only audit: {sorted({one.code for one in told})}"
    if broken and not faults and not noted:
        yield f"only the judge: {sorted(broken)}"


def queries_are_the_references(subject: Subject) -> Iterator[str]:
    """`query` answers each key as the reference does on the same files, but for hits of zeros, for which a broker sends no byte."""
    if not subject.has_reference or subject.store.geometry is None or _configured(subject):
        return
    root = subject.copy("asked")
    reference = subject.reference(root)
    try:
        if not (reference.log.load() and reference.index.load(last_exit_ok=True)):
            return
        step = max(len(subject.keys) // _ASKED, 1)
        with OpenStore(subject.look()) as opened:
            for at, topic, key in subject.keys[::step]:
                answer = opened.query(topic, key, max_num=32, begin=0, end=_END)
                found = query_message(reference.index, reference.log, topic, key, 32, 0, _END)
                ours = [row["phy_offset"] for row in answer.messages]
                theirs = [message.offset for message in found.messages if message.data]
                if ours != theirs:
                    yield f"{topic} {key} at {at}: {ours}, the reference {theirs}"
    except JavaError:  # the reference does not load these files
        return
    finally:
        reference.close()


def a_repair_does_what_its_plan_names(subject: Subject) -> Iterator[str]:
    """`repair --plan` changes nothing, and `--apply` touches only the files that it names."""
    done = subject.repaired
    if done is None:
        return
    if done.planned != done.before:
        yield "--plan changed something"
    names = {name for name in {*done.before, *done.after} if done.before.get(name) != done.after.get(name)}
    touched = {name for name in names if not name.startswith("rocketspec-repair-")}
    planned = {*done.plan.away, *done.plan.into}
    if others := {name for name in touched if not planned & {name, *map(str, Path(name).parents)}}:
        yield f"not in the plan: {sorted(others)}"


def a_repair_cures(subject: Subject) -> Iterator[str]:
    """After `repair --apply` an `audit` has no finding that it was to cure, and no new one but of half messages, consumers' offsets and, where no queue was there, topics, which whole queues show, of places in a queue whose records the log lacks, and of a checkpoint older than the index files that are whole now."""
    done = subject.repaired
    if done is None or done.plan.empty:
        return
    if done.worse:
        yield f"taken back: {done.worse}"
        return
    offsets = {"consumer.offset_beyond_queue", "consumer.offset_below_minimum"}
    shown = offsets | {"transaction.unresolved", "checkpoint.behind"}
    shown |= set() if subject.store.has_queue else {"topic.missing"}
    left = {one.code for one in done.plan.left} | shown
    lacking = any(code.startswith("log.") for code in left)
    if new := done.faults - {*subject.faults} - shown - ({"queue.gap"} if lacking else set()):
        yield f"new: {new}"
    if not lacking and (kept := done.faults - left):
        yield f"not cured: {kept}"


def no_repair_brings_back_a_topic(subject: Subject) -> Iterator[str]:
    """After `repair --apply` no topic has queues or is listed that was not before, nor would be after the next start, where the list or a queue was there."""
    done, store = subject.repaired, subject.store
    if done is None or subject.start is None or not (store.listed_topics or store.has_queue):
        return
    kept = {*(store.listed_topics or ()), *store.has_queue, *subject.start.made}
    if back := {
        topic for topic in done.topics - kept if store.is_deleted(topic) or store.may_be_deleted(topic)
    }:
        yield f"back: {sorted(back)}"


def an_undo_restores_each_byte(subject: Subject) -> Iterator[str]:
    """`repair --undo` restores each file of the store as it was before the repair."""
    done = subject.repaired
    if done is not None and done.undone != done.before:
        yield f"differs: {[name for name, data in done.before.items() if done.undone.get(name) != data][:5]}"


def a_rebuild_of_a_clean_store_gives_its_files(subject: Subject) -> Iterator[str]:
    """`rebuild` of a store that `audit` finds clean, and of whose log nothing has expired, writes its own index files and queues."""
    if len(subject.report) or not subject.small or subject.store.begin:
        return
    made = subject.scratch / "made"
    rebuild(subject.look(), made)
    for part in ("consumequeue", "consumequeue_ext", "index"):
        if _files(made / part) != _files(subject.root / part):
            yield f"{part}: {len(_files(made / part))} files, {len(_files(subject.root / part))} in the store"


def _files(folder: Path) -> list[tuple[str, bytes]]:
    """Files that hold something, of queues that a broker loads; an index file by its place, as the clock named it."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and any(path.read_bytes())]
    named = folder.name != "index"
    found = [one for one in found if one.name.isdecimal() and (one.parent.name.isdecimal() or not named)]
    return [(path.relative_to(folder).as_posix() if named else "", path.read_bytes()) for path in found]


def a_copy_is_equal(subject: Subject) -> Iterator[str]:
    """`diff` finds nothing between a store and itself or its copy, and both have one `digest`."""
    if not subject.small:
        return
    copy = subject.copy("copy")
    try:
        own = store_digest(list(digest(subject.look())))
        if store_digest(list(digest(subject.look(copy)))) != own:
            yield "digest differs"
    except (UsageError, FormatError, OSError):
        pass
    for other in (subject.root, copy):
        try:
            found: list[Any] = [*compare_stores(subject.look(), subject.look(other))]
            found += compare_configurations(subject.look(), subject.look(other))
        except (UsageError, FormatError, OSError):
            continue
        if found:
            yield f"diff: {found[:2]}"


def counts_are_equal(subject: Subject) -> Iterator[str]:
    """`inspect` counts the messages, index entries and end of the log that `decode` gives as rows."""
    if subject.faults or not subject.small:
        return
    seen = look_at(subject.look())
    rows: Counter[str] = Counter()
    end = 0
    units: Counter[tuple[str, int]] = Counter()
    files = subject.store.of("log", "index", "queue")
    for table, batch in decode(files, on_gap=lambda _: None) if files else ():
        rows[table] += batch.num_rows
        if table == "consume_queue":
            for row in batch.select(["topic", "queue_id", "phy_offset", "pre_blank"]).to_pylist():
                if row["phy_offset"] >= subject.store.begin and not row["pre_blank"]:
                    units[row["topic"], row["queue_id"]] += 1
        elif table == "commit_log":
            end = max(
                (row["phy_offset"] + row["size"] for row in batch.select(["phy_offset", "size"]).to_pylist()),
                default=end,
            )
    if sum(index.entries for index in seen.indexes) != rows["index_entries"]:
        yield f"index: {sum(index.entries for index in seen.indexes)}, decode {rows['index_entries']}"
    counted = {(queue.topic, queue.queue_id): queue.messages for queue in seen.queues if queue.messages}
    if counted != dict(units):
        yield f"queues: {sorted(counted.items() ^ units.items())[:4]}"
    if seen.log is not None and end and seen.log.end != end:
        yield f"the log ends at {seen.log.end}, by decode at {end}"


def spark_has_the_findings(subject: Subject) -> Iterator[str]:
    """`spark audit` has the findings of `audit`."""
    (task,) = store_tasks(JobStore(subject.root, tuple(map(str, subject.store.commitlog)), conf=subject.conf))
    found = audit_task("deep", None, pickle.loads(pickle.dumps(task)))
    ours, theirs = ([one.row() | {"cure": ""} for one in report] for report in (subject.report, found))
    if ours != theirs:
        yield f"audit: {[one for one in ours if one not in theirs][:2]}, on Spark {[one for one in theirs if one not in ours][:2]}"


RELATIONS: Final[tuple[Relation, ...]] = (
    a_finding_states_that_no_broker_starts, a_finding_states_where_a_start_ends_the_log, the_reference_starts, the_real_broker_starts, lost_keys_are_not_found,
    lost_units_are_gone, failing_pulls_are_stated, a_glance_finds_the_same_offsets, a_safe_start_delivers_all, the_judge_of_stores_agrees, queries_are_the_references, a_rebuild_of_a_clean_store_gives_its_files, a_copy_is_equal,
    counts_are_equal, a_repair_does_what_its_plan_names, a_repair_cures, no_repair_brings_back_a_topic, an_undo_restores_each_byte,
    spark_has_the_findings,
)  # fmt: skip
