"""Findings about the broker's configuration, compared with its queues."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_spec.errors import MalformedError
from rocket_spec.layout import QUEUE_UNIT
from rocket_spec.printable import counted

from rocket_columnar.config import ConfigFile, LoadedConfig, parse, spelling, table_rows
from rocket_columnar.consumers.by_offset import real_tags, units
from rocket_columnar.consumers.standing import CHECKER, HALF, OP, SCHEDULE, Progress, progress
from rocket_columnar.decode import ExtUnits
from rocket_columnar.describe import QueueView, queue_views
from rocket_columnar.facts import FORGOTTEN, Store
from rocket_columnar.findings import Finding, Severity, finding
from rocket_columnar.formats import parse_long
from rocket_columnar.log import Gap, TopicNames, last_lives, requests_before_gap
from rocket_columnar.store import CONFIG_TABLES, REPAIRS, StoreFile, by_queue, open_reader

# Files of `config/` as a repair writes them: what a start takes, with what it lacks or with offsets that a queue has.


_READ: Final = 4
"""The bit of a topic's perm that lets consumers read (`PermName`)."""
_Queue = tuple[str, int]
_TOPICS: Final = "topics"
_OFFSETS: Final = "consumer_offsets"


class Beyond(NamedTuple):
    """An offset of a group that is beyond its queue.

    It is `earlier` if an earlier life of the queue had it, before its topic was deleted and created again, and `cut` if the queue had
    reached it before the log lost its end and a repair cut the queue.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    queue: QueueView
    earlier: bool
    cut: bool

    @property
    def pulled_from(self) -> int:
        """The offset with which a broker answers a pull there (`DefaultMessageStore.nextOffsetCorrection`)."""
        return 0 if self.queue.min_offset == 0 else self.queue.max_offset

    @property
    def heals(self) -> bool:
        """Whether that pull begins with the first message of the topic that was created again."""
        return self.earlier and self.pulled_from == 0

    @property
    def has_all(self) -> bool:
        """Whether to set it to the queue's end is never worse than to leave it: else the file may be another store's."""
        return self.cut or self.pulled_from == self.queue.max_offset


class Moved(NamedTuple):
    """An offset of a group that is beyond its queue, and the one that it is set to."""

    group: str
    topic: str
    queue_id: int
    offset: int
    end: int


def completed_topics(store: Store, topics: Mapping[str, int]) -> str:
    """The text of `topics.json` with further topics, or queues to read, with the number of queues of each; settings are the defaults of 4.9.3 (CFG-3).

    MalformedError if the file that a start takes changed meanwhile, or has a number that JSON does not.
    """
    content = _content(store, _TOPICS)
    table = content.setdefault(spelling(content, "topicConfigTable") or "topicConfigTable", {})
    for topic, number in topics.items():
        if topic in store.read_queues:
            row = table[topic]
            row[spelling(row, "readQueueNums") or "readQueueNums"] = number
            continue
        table[topic] = {
            "order": False,
            "perm": 6,
            "readQueueNums": number,
            "topicFilterType": "SINGLE_TAG",
            "topicName": topic,
            "topicSysFlag": 0,
            "writeQueueNums": number,
        }
    return _text(content, "config/topics.json")


class _InLog(NamedTuple):
    """The last lives, in the log, of queues whose files lack the offset of a group."""

    # logical offset of the first record, that after the last one, and the greatest end of an earlier life
    queues: Mapping[_Queue, tuple[int, int, int]]
    has_gap: bool  # then more of their messages may have been in it


def _in_log(store: Store) -> _InLog:
    views, own = store.once(queue_views), by_queue(store.queues)
    places = set[_Queue]()
    for row in store.config(_OFFSETS).rows if store.path is not None else ():
        place, offset = (row["topic"], row["queue_id"]), row["offset"]
        view = views.get(place)
        is_before = view is not None and 0 <= offset < view.min_offset
        if is_before and view is not None and store.begin:  # else a file is missing or damaged
            is_before = view.min_offset * QUEUE_UNIT.size in {file.base_offset for file in own[place]}
        if (is_before or offset > (view.max_offset if view else 0)) and not store.is_deleted(place[0]):
            places.add(place)
    if not places:
        return _InLog({}, has_gap=False)
    names, gaps = TopicNames(), list[Gap]()
    files, bounds = zip(store.logs, store.log_sizes, strict=True), (store.begin, store.end)
    batches = requests_before_gap(files, names, bounds=bounds, on_gap=gaps.append, keys=store.keys)
    found = last_lives((batch for _, _, batch in batches), names, places)
    return _InLog(found, bool(gaps or store.log_breaks))


def _whole_queue(store: Store, place: _Queue) -> QueueView | None:
    """A queue as it is once all of the log is dispatched, whatever its files lack; None if nothing is known of it."""
    view = store.once(queue_views).get(place)
    first, end, _ = store.once(_in_log).queues.get(place, (0, 0, 0))
    if view is None:
        return QueueView(*place, files=0, size=0, min_offset=first, max_offset=end) if end else None
    least = first if first < end and view.min_offset > first else view.min_offset
    return replace(view, min_offset=least, max_offset=max(view.max_offset, end))


def unsure_offsets(store: Store) -> bool:
    """Whether it is unknown if offsets of groups are in their queues, as the log has a gap, and files of queues lack them."""
    return store.once(_in_log).has_gap


def offsets_beyond(store: Store) -> list[Beyond]:
    """The offsets of groups beyond their queues, without those that a queue reaches once the log is dispatched; none if that is unknown."""
    found: list[Beyond] = []
    if unsure_offsets(store):
        return found
    views = store.once(queue_views)
    for row in store.config(_OFFSETS).rows:
        place, offset = (row["topic"], row["queue_id"]), row["offset"]
        queue = _whole_queue(store, place)
        if queue is not None and offset > queue.max_offset:
            _, _, earlier = store.once(_in_log).queues.get(place, (0, 0, 0))
            cut = place in views and _was_cut(store, place, views[place].max_offset, offset)
            found.append(Beyond(row["group"], *place, offset, queue, offset <= earlier, cut))
    return found


def _was_cut(store: Store, place: tuple[str, int], end: int, offset: int) -> bool:
    """Whether a repair keeps files of a queue with its last unit, and with the one before an offset beyond it."""
    own = by_queue(store.queues)[place]
    if store.path is None or not own[0].path.is_relative_to(store.path):
        return False
    folder = own[0].path.parent.relative_to(store.path)
    for repair in store.path.glob(f"{REPAIRS}*"):
        old = repair / "old" / folder
        if old.resolve() != store.path.resolve() / old.relative_to(store.path):
            continue  # a link leads out of the repair's folder
        paths = [path for path in old.glob("*") if path.is_file() and not path.is_symlink()]
        kept = [
            StoreFile("queue", path, path.name, *place, number)
            for path in paths
            if (number := parse_long(path.name)) is not None
        ]
        last = _unit(own, end - 1)
        if last and _unit(kept, end - 1) == last and _unit(kept, offset - 1):
            return True
    return False


def _unit(files: Sequence[StoreFile], offset: int) -> bytes:
    """The unit at a logical offset; empty if there is none."""
    return b"".join(found[:1].tobytes() for _, found in units(files, offset, offset + 1))


def moved_offsets(store: Store, replica: Path | None = None, *, to_end: bool = False) -> list[Moved]:
    """The offsets of groups beyond their queues that are moved: to the replica's if the queue has that, else to the queue's end.

    To the end only if the group is known to have got all of the queue, or at the user's word (`to_end`): of a file of another store it would
    miss what it has not consumed. Log and queues of the store are whole; `replica` is a `consumerOffset.json` of another copy, FormatError if
    it is none.
    """
    known: dict[tuple[str, str, int], int] = {}
    if replica is not None:
        with open_reader(replica) as reader:
            rows = table_rows(_OFFSETS, reader)
        known = {(row["group"], row["topic"], row["queue_id"]): row["offset"] for row in rows}
    found: list[Moved] = []
    for beyond in store.once(offsets_beyond):
        place, queue = beyond[:3], beyond.queue
        if not beyond.heals:
            other = known.get(place, -1)
            if queue.min_offset <= other <= queue.max_offset:
                found.append(Moved(*place, beyond.offset, other))
            elif to_end or beyond.has_all or other > queue.max_offset:
                found.append(Moved(*place, beyond.offset, queue.max_offset))
    return found


def corrected_offsets(store: Store, moved: list[Moved]) -> str:
    """The text of `consumerOffset.json` with other offsets (CFG-4); errors as of `completed_topics`."""
    ends = {(one.group, one.topic, one.queue_id): one.end for one in moved}
    table: dict[str, dict[str, int]] = {}
    for row in store.config(_OFFSETS).rows:
        end = ends.get((row["group"], row["topic"], row["queue_id"]))
        table.setdefault(f"{row['topic']}@{row['group']}", {})[str(row["queue_id"])] = (
            row["offset"] if end is None else end
        )
    others = {
        name: value for name, value in _content(store, _OFFSETS).items() if "offset" not in str(name).lower()
    }
    return _text({"offsetTable": table, **others}, "config/consumerOffset.json")


def _content(store: Store, table: str) -> dict[str, Any]:
    taken = store.config(table).taken
    return {} if taken is None else parse(taken.path.read_bytes(), str(taken.path)) or {}


def _text(content: dict[str, Any], file: str) -> str:
    """As JSON, which a broker reads like its own form."""
    try:
        return json.dumps(content, indent=1, allow_nan=False, default=float) + "\n"
    except (ValueError, OverflowError):
        raise MalformedError(
            file=file, found="a number beyond those of JSON", expected="others", clause="CFG-3"
        ) from None


_CHECKS: Final = 15
"""Checks after which 4.9.3 gives a half message up (transactionCheckMax)."""

_UNSURE: Final = (
    "while the broker is down, take a replica's offsets with `rocketspec repair STORE --apply --offsets FILE`; if the file is this "
    "store's own and the log lost its end, set them to the queues' ends with `--offsets end`: from a file of another store the "
    "group would then miss messages; left alone, it gets the queue's messages again"
)
"""The cure where nothing shows that the queue ever reached the offset."""

_LOST: Final = {
    **FORGOTTEN,
    "topics": "topics are unknown: sends and pulls fail until they are created again",
    "subscription_groups": "groups are unknown, or have default settings",
    "consumer_filters": "SQL92 filters are compiled again when consumers connect",
}
"""Consequences of a start without the rows of each table."""


def config_findings(store: Store, *, halves: bool = True) -> Iterator[Finding]:
    """The findings on the files of `config/`, and on what they state of queues; OSError if a queue cannot be read.

    Of queues that are not whole what counts is what the log has of them. With `halves`, of whole ones, also on half messages that nobody
    resolves, for which the records of their op messages are read.
    """
    if store.path is None or not any((store.path / name).exists() for name in ("config", "lock")):
        return  # no broker has run here
    # Before the queues: a running broker appends to them meanwhile.
    loaded = {table: store.config(table) for table in CONFIG_TABLES.values()}
    for config in loaded.values():
        yield from _unreadable(config)
    for table in store.forgotten:
        text = f"the file and its .bak are missing: {FORGOTTEN[table]}"
        yield finding("config.unreadable", _name(loaded[table].main), None, text, severity="note")
    views = store.once(queue_views)
    yield from _consumers(store, loaded["consumer_offsets"])
    yield from _delays(store, loaded["delay_offsets"], views)
    yield from _topics(store, views)
    if halves and any(topic == HALF for topic, _ in views):
        yield from _transactions(progress(store), loaded["consumer_offsets"])


def _name(file: ConfigFile) -> str:
    return f"config/{file.path.name}"


def _unreadable(config: LoadedConfig) -> Iterator[Finding]:
    main, backup = config.main, config.backup
    if main.problem is not None or main.is_empty:
        yield _main_unreadable(config)
    elif main.modified is None and backup.rows is not None:
        yield _taken_instead(config, "the file is missing", "note")
    elif backup.problem is not None:
        yield finding(
            "config.unreadable",
            _name(backup),
            None,
            f"{_problem(backup)}; {main.path.name} is whole, and a start takes that one",
            severity="note",
            cure="none needed: the next change of the file writes it again",
        )


def _problem(file: ConfigFile) -> str:
    error = file.problem
    if error is None:
        return "the file is empty"
    if isinstance(error, OSError):
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    found, expected = getattr(error, "found", error), getattr(error, "expected", None)
    return f"found {found}" + (f", expected {expected}" if expected else "")


def _main_unreadable(config: LoadedConfig) -> Finding:
    main, backup = config.main, config.backup
    offset = getattr(main.problem, "offset", None)
    if backup.rows is not None:
        return _taken_instead(config, _problem(main), "warning", offset)
    if config.starts:
        after = f"without a .bak a start goes on with no rows: {_LOST[config.table]}"
    else:
        after = f"{backup.path.name} cannot be loaded either ({_problem(backup)}): the broker does not start"
    return finding("config.unreadable", _name(main), offset, f"{_problem(main)}; {after}")


def _taken_instead(
    config: LoadedConfig, problem: str, severity: Severity, offset: int | None = None
) -> Finding:
    """The finding on a file whose `.bak` a start takes."""
    backup = config.backup
    when = datetime.fromtimestamp(backup.modified or 0, UTC).isoformat(timespec="seconds")
    return finding(
        "config.unreadable",
        _name(config.main),
        offset,
        f"{problem}; a start takes {backup.path.name}, last written {when}, with {counted(len(backup.rows or ()), 'row')}",
        severity=severity,
        cure="none needed: a start takes the .bak, which may be older; compare its rows with `decode --table`",
    )


def _consumers(store: Store, config: LoadedConfig) -> Iterator[Finding]:
    if config.taken is None:
        return
    file = _name(config.taken)
    for beyond in store.once(offsets_beyond):
        text = (
            f"{_standing(beyond.group, beyond.topic, beyond.queue_id, beyond.offset)}, and the queue ends at "
        )
        text += f"{beyond.queue.max_offset:,}; a pull there is answered with offset {beyond.pulled_from:,}"
        if beyond.earlier:
            text += ": the offset is from before the topic was deleted and created again"
        known: dict[str, Any] = {}
        if beyond.heals:
            cure = "none needed: the group then gets every message of the new topic"
            known = {"severity": "note", "cure": cure}
        elif not beyond.has_all:
            known = {"cure": _UNSURE}
        yield finding("consumer.offset_beyond_queue", file, None, text, **known)
    for row in config.rows:
        queue = _whole_queue(store, (row["topic"], row["queue_id"]))
        if queue is None or row["offset"] >= queue.min_offset:
            continue
        if row["offset"] < 0:
            text = f"{_standing(**row)}, which a broker takes for none: the group begins as a new one does"
            cure = "none needed; a replica's file may have the group's offset"
            yield finding("consumer.offset_below_minimum", file, None, text, severity="note", cure=cure)
            continue
        lost = queue.min_offset - row["offset"]
        text = f"{_standing(**row)}, and the queue begins at {queue.min_offset:,}: {counted(lost, 'message')} expired unread"
        yield finding("consumer.offset_below_minimum", file, None, text)


def _standing(group: str, topic: str, queue_id: int, offset: int) -> str:
    return f"group {group}, {topic} queue {queue_id}: offset {offset:,}"


def _delays(store: Store, config: LoadedConfig, queues: Mapping[_Queue, QueueView]) -> Iterator[Finding]:
    """A warning if messages are lost: those that were due after the file was written were not delivered."""
    taken = config.taken
    for row in config.rows if taken is not None else ():
        level, offset = row["delay_level"], row["offset"]
        queue = queues.get((SCHEDULE, level - 1))
        if queue is None or taken is None or offset <= queue.max_offset:
            continue
        written = int((taken.modified or 0) * 1000)
        waiting = sum(
            int((real_tags(ExtUnits(store.exts), (SCHEDULE, level - 1), some) > written).sum())
            for _, some in units(
                by_queue(store.queues)[SCHEDULE, level - 1], queue.min_offset, queue.max_offset
            )
        )
        text = (
            f"delay level {level}: offset {offset:,}, and its queue ends at {queue.max_offset:,}; the broker goes on at "
            f"{queue.max_offset:,}"
        )
        if waiting:
            text += ": " + counted(waiting, "message that is", "messages that are")
            text += f" due after the offset was written {'is' if waiting == 1 else 'are'} never delivered"
            yield finding("delay.offset_beyond_queue", _name(taken), None, text)
        else:
            none = "none needed: the broker goes on at the queue's end"
            yield finding("delay.offset_beyond_queue", _name(taken), None, text, severity="note", cure=none)


def _topics(store: Store, queues: Mapping[tuple[str, int], QueueView]) -> Iterator[Finding]:
    config = store.config("topics")
    if config.taken is None and not (config.main.passed_over and config.backup.passed_over):
        return  # it is unreadable, which is a finding of its own
    for topic, number in store.unlisted.items():
        read = store.read_queues.get(topic, 0)
        messages = sum(
            queue.messages for (name, queue_id), queue in queues.items() if name == topic and queue_id >= read
        )
        if read:
            text = f"topic {topic} has queues 0 to {number - 1}, and {read} to read in the list of topics: consumers do not get the {counted(messages, 'message')} of the others"
        else:
            text = f"topic {topic} has queues 0 to {number - 1} with {counted(messages, 'message')}, and "
            text += "there is no list of topics" if config.taken is None else "is not in the list of topics"
            if topic.startswith("%RETRY%"):  # `ClientManageProcessor.heartBeat`
                text += ", until a push consumer of the group starts: the broker then makes it again, with the group's retryQueueNums"
        yield finding("topic.missing", _name(config.taken or config.main), None, text)
    held: Counter[str] = Counter()
    for (name, _), queue in queues.items():
        held[name] += queue.messages
    for topic, perm in ((row["topic"], row["perm"]) for row in config.rows):
        if held[topic] and not perm & _READ:
            text = f"topic {topic} has {counted(held[topic], 'message')}, and perm {perm} in the list of topics: consumers may not read it"
            cure = "none needed if that is meant; else run `mqadmin updateTopicPerm` with perm 6"
            yield finding(
                "topic.missing", _name(config.taken or config.main), None, text, severity="note", cure=cure
            )


def _transactions(seen: Progress, config: LoadedConfig) -> Iterator[Finding]:
    if not seen.open_halves:
        return
    oldest, checks = seen.halves[0], max(half.checks for half in seen.halves)
    read = {row["topic"] for row in config.rows if row["group"] == CHECKER}
    text = (
        f"{counted(seen.open_halves, 'half message is', 'half messages are')} neither committed nor rolled back, the oldest for {oldest.topic}, "
        f"checked {counted(checks, 'time')} at most"
    )
    unread = {HALF, OP} - read
    if unread:
        text += f"; {CHECKER} has no offset in {' and '.join(sorted(unread))}: the broker checks from the beginning on"
    severity: Severity = "warning" if checks >= _CHECKS else "note"
    yield finding("transaction.unresolved", f"consumequeue/{HALF}", None, text, severity=severity)
