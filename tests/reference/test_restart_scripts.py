"""The stores of `tests/spec/real/restart_scripts.txt` on the reference: all that the real 4.9.3 did to them, step by step."""

from __future__ import annotations

import json
import re
import struct
import tempfile
from fnmatch import filter as filter_names
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Final

import pytest
import rocket_reference as reference
from make_facts import make_restarts
from random_scripts import random_scripts
from restart_scripts import scripts
from rocket_reference.query_message import query_message
from rocket_spec.data import find_data
from spec_blocks import code

Step = dict[str, Any]
REAL = Path(__file__).parents[1] / "spec" / "real"
SCRIPTS: dict[str, dict[str, Any]] = scripts()
ANSWERS: dict[str, list[Step]] = json.loads((REAL / "restarts.json").read_text("utf-8"))

NOT_HERE: Final = {
    "next_file": "4.9.3 makes a file ahead, in a thread",
    "folders": "the reference makes no directory for the text of several paths",
    "throwing_dispatcher": "the reference has the store's own dispatchers",
    "arriving_listener": "the reference has no clients that wait for messages",
    "reput_ends": "the reference has no threads",
    "clean_light": "the reference has no command for one light topic",
    "clean": "the reference has no service that expires at intervals",
    "log_time": "the reference flushes nothing by itself",
    "expire_log": "the reference deletes no files of the log by their age",
    "pull": "the reference sends no messages to consumers",
}
"""Steps that the reference has no counterpart of; scripts with them are left out, and those that depend on the clock."""

MEMORY: Final = {"queues", "log", "checkpoint", "index_files", "flags"}

CHOSEN = [
    name
    for name, script in SCRIPTS.items()
    if "clock" not in script
    and not {step["do"] for step in script["steps"]} & set(NOT_HERE)
    and "messageDelayLevel" not in script["config"]  # the reference has the default levels
    and not any(file.startswith("config/") for file in script["files"])  # nor does it read delayOffset.json
]


class Life:
    """One script, from its files on."""

    def __init__(self, root: Path, script: dict[str, Any]) -> None:
        self.root = root
        self.config = script["config"]
        self.store: reference.MessageStore | None = None
        self.held: reference.MappedFile | None = None
        self.shut_down = False
        self.milliseconds = 0
        self.made: list[str] = []
        for name, data in script["files"].items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes.fromhex(data))

    def opened(self) -> reference.MessageStore:
        if self.store is not None:
            self.store.close()
        config = self.config

        def paths(name: str) -> tuple[str, ...]:  # STORE-17
            return tuple(
                path.removeprefix("$ROOT/") for path in config.get(name, "").strip().split(",") if path
            )

        ext = config["mappedFileSizeConsumeQueueExt"] if config.get("enableConsumeQueueExt") else None
        self.store = reference.MessageStore(
            self.root,
            reference.StoreConfig(
                commit_log_file_size=config["mappedFileSizeCommitLog"],
                queue_file_size=config["mappedFileSizeConsumeQueue"],
                ext_file_size=ext,
                hash_slot_num=config["maxHashSlotNum"],
                index_num=config["maxIndexNum"],
                message_index_enable=config.get("messageIndexEnable", True),
                message_index_safe=config.get("messageIndexSafe", False),
                check_crc_on_recover=config.get("checkCRCOnRecover", True),
                multi_dispatch=config.get("enableMultiDispatch", False),
                lmq=config.get("enableLmq", False),
                slave=config.get("brokerRole") == "SLAVE",
                duplication=config.get("duplicationEnable", False),
                commit_log_paths=paths("storePathCommitLog"),
                read_only_paths=paths("readOnlyCommitLogStorePaths"),
            ),
            new_index_name=self.new_name,
            sleep=lambda _milliseconds: None,
            clock=lambda: self.milliseconds,
        )
        if config["brokerId"] != 0:  # not a master for dispatch; the role alone decides about the checkpoint
            limit = self.store.reput.confirm_offset
            self.store.reput = reference.Reput(
                self.store.log, self.store.dispatch, master=False, confirm_offset=limit
            )
        return self.store

    def new_name(self) -> str:
        self.made.append(f"99990101{len(self.made):09}")
        return self.made[-1]

    # --- steps ----------------------------------------------------------------------------------------------

    def queue(self) -> reference.ConsumeQueue:
        assert self.store is not None
        return self.store.queues.find("T", 0)

    def load(self) -> bool:
        return self.opened().load()

    def reput(self, store: reference.MessageStore, start: int) -> int:
        store.reput.reput_from_offset = start
        store.reput.reput()
        return store.reput.reput_from_offset

    def do(self, step: Step) -> Any:
        """Does a step, and returns what it answers."""
        if step["do"] == "load":
            return self.load()
        if step["do"] == "min_timestamps":
            times = reference.Checkpoint(step["physic"], step["logics"], step["index"])
            return [times.min_timestamp, times.min_timestamp_index]
        assert self.store is not None
        return self._done(step, self.store, self.store.log.files.mapped_files)

    def _done(self, step: Step, store: reference.MessageStore, logs: list[reference.MappedFile]) -> Any:  # noqa: C901, PLR0912 - one branch a step
        match step["do"]:
            case "start":
                store.start()
            case "start_briefly":
                try:
                    store.start()
                except reference.UnspecifiedError:
                    return False
                return True
            case "shutdown":
                store.shutdown()
                self.shut_down = True
            case "wrote":
                logs[-1].wrote_position = step["position"]
            case "damage":
                logs[0].view[step["offset"]] = step["byte"] & 0xFF
            case "reput" | "reput_impatiently":
                return self.reput(store, step["from"])
            case "confirm":
                store.reput.confirm_offset = step["offset"]
            case "put":
                request = reference.DispatchRequest(
                    topic=step["topic"],
                    commit_log_offset=step["offset"],
                    msg_size=step["size"],
                    tags_code=step["tags_code"],
                    store_timestamp=step["store_timestamp"],
                    consume_queue_offset=step["cq_offset"],
                )
                store.queues.dispatch(request, store.checkpoint, bit_map=bytes(step.get("bit_map", 0)))
            case "index_error":
                store.flags.index_file_error = True
            case "get_ext":
                ext = store.queues.find(step["topic"], 0).ext
                unit = ext.get(step["address"]) if ext else None
                return None if unit is None else unit.tags_code
            case "time":
                log = store.log
                return self.queue().offset_by_time(
                    step["at"],
                    lambda path: int(path.stat().st_mtime * 1000),
                    log.pickup_store_timestamp,
                    log.min_offset(),
                )
            case "query":
                return self.query(step, store)
            case "hold_index":
                return store.index.files[0].mapped.hold()
            case "hold_log":
                return logs[0].hold()
            case "destroy_log":
                return logs[0].destroy(step["interval"])
            case "hold_queue":
                self.held = self.queue().files.mapped_files[0]
                return self.held.hold()
            case "destroy_queue":
                return self.queue().files.mapped_files[0].destroy(step["interval"])
            case "release_queue":
                assert self.held is not None
                self.held.release()
            case "expire_queue":
                return self.queue().delete_expired(step["offset"])
            case "get_unit":
                found = self.queue().get(step["at"])
                return None if found is None else found.phy_offset
            case "delete_index":
                store.index.delete_expired(step["offset"])
            case "sleep":
                self.milliseconds += step["millis"]
            case "clean_expired_queues":
                store.queues.clean_expired(store.log.min_offset())
            case "clean_unused":
                store.queues.clean_unused(step["topics"])
                return 0
            case unknown:
                raise AssertionError(unknown)
        return None

    @staticmethod
    def query(step: Step, store: reference.MessageStore) -> Step:
        asked = (step[name] for name in ("topic", "key", "max_num", "begin", "end"))
        found = query_message(store.index, store.log, *asked)
        return {
            "phy_offsets": [int.from_bytes(message.data[28:36], "big") for message in found.messages],
            "last_update_timestamp": found.last_update_timestamp,
            "last_update_phy_offset": found.last_update_phy_offset,
        }

    # --- what is compared ----------------------------------------------------------------------------------

    def run(self, step: Step) -> Step:
        state: Step = {"do": step["do"]}
        try:
            state["result"] = self.do(step)
        except (reference.JavaError, reference.JavaFatalError) as error:
            state["thrown"] = error.name
        if self.store is not None and step["do"] != "shutdown":
            self.store.index.settle()
            state |= self.state(self.store)
        state["files"] = self.files()
        return state

    @staticmethod
    def state(store: reference.MessageStore) -> Step:
        queues: dict[str, str] = {}
        for queue in store.queues:
            bounds = queue.bounds()
            if not queue.topic.startswith("SCHEDULE") or bounds.max > 0:
                numbers = [bounds.min, bounds.max, bounds.max_physic_offset]
                queues[f"{queue.topic}/{queue.queue_id}"] = compact(numbers)
        flags = store.flags
        return {
            "queues": queues,
            "log": compact([store.log.min_offset(), store.log.max_offset()]),
            "index_files": len(store.index.files),
            "flags": 4 * flags.logics_queue_error + 8 * flags.index_file_error + 16 * flags.disk_full,
        }

    def files(self) -> dict[str, str]:
        """As RestartFacts lists them: the length, and the bytes less trailing zeros."""
        found: dict[str, str] = {}
        new = 0
        for path in sorted(self.root.rglob("*"), key=lambda path: path.relative_to(self.root).parts):
            name = path.relative_to(self.root).as_posix()
            if not path.is_file() or name == "lock":
                continue
            data = path.read_bytes()
            if name == "checkpoint" and not self.shut_down:
                data = data[:8] + bytes(8) + data[16:]
            if path.name in self.made:
                new += 1
                name = f"index/new-{new}"
            found[name] = f"{len(data)}:{data.rstrip(bytes(1)).hex()}"
        return found


class Page:
    """A store as the blocks of SPEC.md see it. Records are parsed and queues kept by the reference."""

    def __init__(self, store: reference.MessageStore, *, is_master: bool = True, position: int = 0) -> None:
        self.store = store
        self.log = self
        self.position: int = position
        self.is_master = is_master
        self.dledger = False
        self.duplication_enable = store.config.duplication
        self.confirm_offset = store.reput.confirm_offset
        self.check_crc_on_recover = store.config.check_crc_on_recover
        self.checkpoint = store.checkpoint.times()
        self.dispatchers = [self.dispatch]
        self.queues_before_this = [SimpleNamespace(end=one.max_physic_offset) for one in store.queues]
        self.files = [PageFile(file) for file in store.log.files.mapped_files]
        self.delete_all_queues = store.queues.destroy
        self.ends_at = store.log.files.truncate_dirty_files
        self.end = store.log.max_offset
        self.start_of_next_file = store.log.roll_next_file

    @property
    def queues(self) -> list[SimpleNamespace]:
        """Those that recovery has made, too."""
        return [
            SimpleNamespace(truncate=one.truncate, correct_minimum=one.correct_min)
            for one in self.store.queues
        ]

    def dispatch(self, request: SimpleNamespace) -> None:
        self.store.dispatch(request.whole)

    def first_file(self) -> SimpleNamespace:
        return SimpleNamespace(start=self.store.log.min_offset())

    def written_part_of_file(self, position: int) -> PageBuffer | None:
        found = self.store.log.find(position, first_on_not_found=position == 0)
        if found is None or not 0 <= found[1] < found[0].wrote_position or not found[0].available:
            return None
        return PageBuffer(bytes(found[0].view[found[1] : found[0].wrote_position]))


class PageBuffer:
    """Records one after the other; after one whose lengths do not add up, what follows its fields is next."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.position = 0

    def next_request(self, *, check_crc: bool, read_body: bool) -> SimpleNamespace:
        request = reference.dispatch_request(
            self.data, self.position, check_crc=check_crc, read_body=read_body
        )
        self.position += request.msg_size if request.success or request.msg_size < 0 else self.length()
        return page_request(request)

    def length(self) -> int:
        """Length of a record by its fields (LOG-REC-1); hosts are IPv4."""
        (body,) = struct.unpack_from(">i", self.data, self.position + 84)
        topic = self.data[self.position + 88 + body]
        (properties,) = struct.unpack_from(">h", self.data, self.position + 89 + body + topic)
        return int(91 + body + topic + properties)


class PageFile:
    def __init__(self, file: reference.MappedFile) -> None:
        self.file = file
        self.start = file.file_from_offset

    def request_at(self, position: int, *, check_crc: bool, read_body: bool) -> SimpleNamespace:
        data = self.file.view
        return page_request(
            reference.dispatch_request(
                data, position, check_crc=check_crc, read_body=read_body, delay_levels=()
            )
        )


def page_request(request: reference.DispatchRequest) -> SimpleNamespace:
    return SimpleNamespace(
        success=request.success, size=request.msg_size, phy_offset=request.commit_log_offset, whole=request
    )


class ByThePage(Life):
    """A script whose log is recovered and dispatched by the blocks of SPEC.md; `changes` replace texts in them."""

    changes: ClassVar[dict[str, str]] = {}

    def load(self) -> bool:
        store = self.opened()
        clean_exit = not (self.root / "abort").exists()
        try:
            if not store.log.load() or not store.queues.load():
                return False
            store.checkpoint = store.index.checkpoint = reference.StoreCheckpoint(self.root / "checkpoint")
            store.index.load(last_exit_ok=clean_exit)
            store.queues.recover()
            self.recover(Page(store), clean_exit=clean_exit)
        except reference.JavaError:
            return False
        return True

    def recover(self, page: Page, *, clean_exit: bool) -> None:
        config = page.store.config
        safe = config.message_index_enable and config.message_index_safe
        times = page.checkpoint
        bound = times.min_timestamp_index if safe else times.min_timestamp

        def first_record_is_safe(file: PageFile, _checkpoint: reference.Checkpoint) -> bool:
            """STORE-11; hosts are IPv4."""
            (magic,) = struct.unpack_from(">I", file.file.view, 4)
            (stored,) = struct.unpack_from(">q", file.file.view, 56)
            return bool(magic == 0xDAA320A7 and stored != 0 and stored <= bound)

        block = code(
            "Recovery, step by step", changes=self.changes, first_record_is_safe=first_record_is_safe
        )
        block["recover_log"](page, clean_exit)

    def reput(self, store: reference.MessageStore, start: int) -> int:
        page = Page(store, is_master=self.config["brokerId"] == 0, position=start)
        code("Dispatch, step by step", changes=self.changes)["dispatch"](page)
        return page.position


BY_THE_PAGE = [
    name
    for name in CHOSEN
    if {step["do"] for step in SCRIPTS[name]["steps"]}
    <= {"load", "reput", "wrote", "damage", "query", "confirm"}
]


@pytest.mark.parametrize("name", BY_THE_PAGE)
def test_the_blocks_of_the_page_as_the_real_store(name: str, tmp_path: Path) -> None:
    life = ByThePage(tmp_path, SCRIPTS[name])
    try:
        assert [life.run(step) for step in SCRIPTS[name]["steps"]] == expected(name)
    finally:
        if life.store is not None:
            life.store.close()


@pytest.mark.java
@pytest.mark.usefixtures("maven")
@pytest.mark.parametrize(
    ("first", "count"), [(0, 60), pytest.param(60, 20_000, marks=pytest.mark.soak)], ids=["60", "20,000"]
)
def test_random_stores_as_the_real_store(first: int, count: int, tmp_path: Path) -> None:
    """Damaged logs, queues of all kinds and light queues, with load and dispatch: by the reference and by the page."""
    differing: list[str] = []
    for seed in range(first, first + count, 500):
        chosen = random_scripts(min(500, first + count - seed), seed)
        make_restarts(tmp_path / "answers.json", chosen)
        answers = json.loads((tmp_path / "answers.json").read_text("utf-8"))
        differing += [
            f"{name}, {kind.__name__}"
            for name, made in chosen.items()
            for kind in (Life, ByThePage)
            if not as_answered(kind, made, answers[name])
        ]
    assert differing == []


def as_answered(kind: type[Life], made: dict[str, Any], answer: list[Step]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        life = kind(Path(folder), made)
        try:
            return [life.run(step) for step in made["steps"]] == without_clock(answer)
        finally:
            if life.store is not None:
                life.store.close()


def test_most_scripts_are_run_by_the_page() -> None:
    assert len(BY_THE_PAGE) > 90


def compact(numbers: list[int]) -> str:
    return json.dumps(numbers, separators=(",", ":"))


def expected(name: str) -> list[Step]:
    """Results of the real store, less its memory after a shutdown, which unmaps the reference's files."""
    return without_clock(ANSWERS[name])


def without_clock(answers: list[Step]) -> list[Step]:
    """The states less what depends on the clock or is unmapped."""
    found: list[Step] = []
    for answer in answers:
        left_out = MEMORY if answer["do"] == "shutdown" else {"checkpoint"}
        state = {key: value for key, value in answer.items() if key not in left_out}
        state["files"] = {
            file: data for file, data in state["files"].items() if not file.startswith("other/")
        }
        if answer["do"] == "min_timestamps":  # beyond 2^53 they are texts
            state["result"] = [int(value) for value in state["result"]]
        found.append(state if "thrown" in state else {"result": None} | state)
    return found


def test_scripts_that_clauses_and_errata_name_are_run() -> None:
    text = "".join(find_data(f"spec/{page}.md").read_text("utf-8") for page in ("SPEC", "ERRATA"))
    named = {
        name
        for names in re.findall(r"::test_as_the_real_store\[([^]]+)\]", text)
        for name in names.split("; ")
    }
    assert len(named) > 60
    assert [name for name in named if not filter_names(CHOSEN, name)] == []


def test_few_scripts_are_left_out() -> None:
    assert len(CHOSEN) > 100
    assert len(SCRIPTS) - len(CHOSEN) < 60
    assert set(SCRIPTS) == set(ANSWERS)


@pytest.mark.parametrize("name", CHOSEN)
def test_as_the_real_store(name: str, tmp_path: Path) -> None:
    life = Life(tmp_path, SCRIPTS[name])
    try:
        assert [life.run(step) for step in SCRIPTS[name]["steps"]] == expected(name)
    finally:
        if life.store is not None:
            life.store.close()
