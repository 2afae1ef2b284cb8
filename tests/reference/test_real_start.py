"""Starts and ends of a store beside the real ones of 4.9.3, over seeded commit logs with damage.

`StartCompare.java` runs the operations there. After each, everything is compared: what it returned, the
state in memory, and every byte on disk.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocket_reference import (
    Store,
    StoreConfig,
    UnspecifiedError,
    encode_blank,
    encode_record,
    file_name,
)
from rocket_reference.query_message import query_message
from store_history import T0, History, first_differences, hexed, positions, summary

if TYPE_CHECKING:
    RealClasses = Callable[[str, Sequence[str]], list[str]]

pytestmark = pytest.mark.java

TOPICS = ("T", "T", "U", "SCHEDULE_TOPIC_XXXX", "%LMQ%a")
KEYS = ("Aa", "BB", "k")


class StartHistory(History):
    """A store: a commit log that grows between its starts, clean and unclean ends, queries, damage."""

    def __init__(self, seed: int, directory: Path) -> None:
        super().__init__(seed, directory)
        self.names = itertools.count(20990101000000000)
        self.store: Store | None = None
        self.loaded = False
        self.config = StoreConfig()
        self.end = 0  # where the next record goes
        self.time = T0
        self.queue_offsets: dict[tuple[str, int], int] = {}

    # --- what is compared -----------------------------------------------------------------------------

    def state(self) -> str:
        store = self.store
        if store is None or not self.loaded:
            return ""
        parts = [str(store.reput.reput_from_offset), positions(store.log.files)]
        queues = {f"{hexed(queue.topic)}-{queue.queue_id}": queue for queue in store.queues}
        for name in sorted(queues):
            queue = queues[name]
            bounds = queue.bounds()
            if bounds.max_physic_offset == -1 and bounds.max == 0:
                continue
            files = [queue.files] if queue.ext is None else [queue.files, queue.ext.files]
            numbers = (queue.min_logic_offset, bounds.max, bounds.max_physic_offset)
            parts.append(f"{name}={','.join((*map(str, numbers), *map(positions, files)))}")
        for file in store.index.files:
            h = file.index.header()
            parts.append(
                f"{h.begin_timestamp},{h.end_timestamp},{h.begin_phy_offset},{h.end_phy_offset},"
                f"{h.hash_slot_count},{h.index_count}"
            )
        times = store.checkpoint.times()
        writeable = str(store.flags.writeable).lower()
        parts.append(
            f"{times.physic_msg_timestamp},{times.logics_msg_timestamp},{times.index_msg_timestamp},{writeable}"
        )
        return ";".join(parts)

    def files(self) -> str:
        found = {}
        for path in self.root.rglob("*"):
            if path.is_file() and path.name != "lock":
                found[path.relative_to(self.root).as_posix()] = summary(path)
        return "".join(
            ("" if name.startswith("index") else hexed(name)) + found[name] for name in sorted(found)
        )

    # --- operations -----------------------------------------------------------------------------------

    def drop(self) -> None:
        if self.store is not None:
            self.store.close()
        self.store = None
        self.loaded = False

    def open(self) -> None:
        config = self.config

        def enter() -> None:
            self.drop()
            self.store = Store(
                self.root,
                config,
                new_index_name=lambda: str(next(self.names)),
                sleep=lambda _milliseconds: None,
            )

        flags = (config.multi_dispatch, config.lmq, config.slave, config.message_index_safe)
        words = (
            *(config.commit_log_file_size, config.queue_file_size, config.ext_file_size or "-"),
            *(int(flag) for flag in (*flags, config.check_crc_on_recover)),
        )
        self.run("new " + " ".join(map(str, words)), enter)
        store = self.store
        if store is not None:
            self.run("load", lambda: self.load(store))

    def load(self, store: Store) -> bool:
        self.loaded = store.load()
        return self.loaded

    @staticmethod
    def start(store: Store) -> str:
        try:
            store.start()
        except UnspecifiedError:
            return "stuck"
        return "-"

    def shutdown(self, store: Store) -> bool:
        clean = store.shutdown()
        self.store, self.loaded = None, False
        return clean

    # --- the commit log -------------------------------------------------------------------------------

    def properties(self) -> dict[str, str]:
        choose = self.choose
        properties = {}
        if choose.random() < 0.8:
            properties["UNIQ_KEY"] = f"u{choose.randrange(40)}"
        if choose.random() < 0.7:
            properties["KEYS"] = " ".join(choose.choice(KEYS) for _ in range(choose.randrange(1, 3)))
        if choose.random() < 0.5:
            properties["TAGS"] = choose.choice(("TagA", "b"))
        if choose.random() < 0.3:
            properties["DELAY"] = choose.choice(("1", "3", "18", "99", "0"))
        if choose.random() < 0.01:
            properties["DELAY"] = "x"
        if choose.random() < 0.3:
            names = [choose.choice(("%LMQ%a", "%LMQ%b", "W")) for _ in range(choose.randrange(1, 3))]
            properties["INNER_MULTI_DISPATCH"] = ",".join(names)
            offsets = [self.next_offset(name, 0) for name in names]
            properties["INNER_MULTI_QUEUE_OFFSET"] = ",".join(map(str, offsets))
            if choose.random() < 0.05:
                properties["INNER_MULTI_QUEUE_OFFSET"] = choose.choice(("x", "1,2,3", ",", " "))
        if choose.random() < 0.03:
            return {}
        return properties

    def next_offset(self, topic: str, queue_id: int) -> int:
        offset = self.queue_offsets.get((topic, queue_id), 0)
        self.queue_offsets[topic, queue_id] = offset + 1
        return offset

    def record(self) -> bytes:
        choose = self.choose
        topic, queue_id = choose.choice(TOPICS), choose.randrange(2)
        sys_flag = choose.choice((0, 0, 0, 0, 0, 4, 8, 12))
        self.time += choose.choice((0, 1, 500, 1000, 4000))
        made = bytearray(
            encode_record(
                topic,
                bytes(choose.randrange(256) for _ in range(choose.choice((0, 3, 30)))),
                self.properties(),
                queue_id=queue_id,
                queue_offset=0 if sys_flag in (4, 12) else self.next_offset(topic, queue_id),
                phy_offset=self.end,
                sys_flag=sys_flag,
                born_host=choose.choice(("1.2.3.4:5", "1.2.3.4:5", "[::1]:9")),
                store_timestamp=self.time,
                store_host=choose.choice(("1.2.3.4:5", "1.2.3.4:5", "[fe80::1]:9")),
            )
        )
        if choose.random() < 0.03:
            self.hurt(made)
        return bytes(made)

    def hurt(self, made: bytearray) -> None:
        choose = self.choose
        kind = choose.randrange(6)
        if kind == 0:
            struct.pack_into(">i", made, 0, len(made) + choose.choice((1, -1, 5, 300)))
        elif kind == 1:
            struct.pack_into(">i", made, 4, choose.choice((0, 5)))
        elif kind == 2:
            made[11] ^= 1
        elif kind == 3:
            made[-1] ^= 0x41
        elif kind == 4:
            struct.pack_into(">q", made, 28, choose.choice((0, 7, self.end + 100)))  # another physical offset
        else:
            struct.pack_into(">q", made, 20, choose.choice((0, 1, 9)))  # another queue offset

    def append(self) -> None:
        """Records at the log's end, rolled as 4.9.3 rolls."""
        choose, size = self.choose, self.config.commit_log_file_size
        start, made = self.end, b""
        for _ in range(choose.randrange(1, 12)):
            record = self.record()
            room = size - self.end % size
            if len(record) + 8 > room:
                made += encode_blank(room).ljust(room, b"\0")
                self.end += room
                record = record[:28] + self.end.to_bytes(8, "big") + record[36:]
            made += record
            self.end += len(record)
        self.lay(start, made)
        if choose.random() < 0.2:  # the next file, made ahead
            self.length(f"commitlog/{file_name(self.end - self.end % size + size)}", size)

    def lay(self, start: int, data: bytes) -> None:
        """Bytes of the log, cut into its files."""
        size = self.config.commit_log_file_size
        while data:
            position = start % size
            part, data = data[: size - position], data[size - position :]
            name = f"commitlog/{file_name(start - position)}"
            self.write(name, position, part)
            self.length(name, size)
            start += len(part)

    def checkpoint(self) -> None:
        times = [
            self.choose.choice((0, self.time, self.time - 5000, self.time + 5000, self.time - 60_000))
            for _ in range(3)
        ]
        self.length("checkpoint", 4096)
        self.write("checkpoint", 0, struct.pack(">qqq", *times))

    def damage(self) -> None:
        """One thing that may have happened to the files while the broker was down."""
        choose = self.choose
        paths = sorted(path for path in self.root.rglob("*") if path.is_file() and path.name != "lock")
        names = [path.relative_to(self.root).as_posix() for path in paths]
        names = [name for name in names if not name.startswith("index")]
        if not names:
            return
        name = choose.choice(names)
        kind = choose.randrange(12)
        length = (self.root / name).stat().st_size
        if kind == 0:
            self.run(f"remove {name}", (self.root / name).unlink)
        elif kind == 1:
            self.length(name, choose.choice((0, length + 20, max(0, length - 20))))
        elif kind < 8 and length >= 8:
            self.write(name, choose.randrange(length - 7), b"\x01" * choose.choice((1, 4, 8)))
        elif length >= 20 and name.startswith(
            "consumequeue/"
        ):  # in a log it can make a size that fills the memory
            self.write(
                name, 20 * choose.randrange(length // 20), struct.pack(">q", self.end - choose.randrange(500))
            )

    def one(self, number: int) -> None:
        choose = self.choose
        self.begin(number)
        self.end, self.time, self.queue_offsets = 0, T0, {}
        self.config = StoreConfig(
            commit_log_file_size=choose.choice((400, 700, 1000, 3000)),
            queue_file_size=choose.choice((40, 60, 100, 400)),
            ext_file_size=choose.choice((None, None, None, 100, 300)),
            hash_slot_num=7,
            index_num=1000,
            message_index_safe=choose.random() < 0.2,
            check_crc_on_recover=choose.random() < 0.8,
            multi_dispatch=choose.random() < 0.3,
            lmq=choose.random() < 0.5,
            slave=choose.random() < 0.2,
        )
        if choose.random() < 0.1:
            self.end = self.config.commit_log_file_size * choose.randrange(1, 9)
        for _ in range(choose.randrange(1, 5)):
            self.life()
        self.drop()

    def life(self) -> None:
        """From one start to the next."""
        choose = self.choose
        if choose.random() < 0.95:
            self.append()
        if choose.random() < 0.25:
            self.damage()
        if choose.random() < 0.3:
            self.checkpoint()
        self.open()
        store = self.store
        if store is None or not self.loaded:
            return
        self.run("start", lambda: self.start(store))
        for _ in range(choose.randrange(4)):
            self.ask(store)
        if choose.random() < 0.5:
            self.run("shutdown", lambda: self.shutdown(store))
        else:
            self.run("drop", self.drop)

    def ask(self, store: Store) -> None:
        choose = self.choose
        if choose.random() < 0.3:
            topic, queue_id, time = (
                choose.choice(TOPICS),
                choose.randrange(2),
                self.time - choose.randrange(30_000),
            )

            def by_time() -> int:
                return store.queues.find(topic, queue_id).offset_by_time(
                    time,
                    lambda path: int(path.stat().st_mtime * 1000),
                    store.log.pickup_store_timestamp,
                    store.log.min_offset(),
                )

            self.run(f"by_time {hexed(topic)} {queue_id} {time}", by_time)
            return
        topic, key = choose.choice(TOPICS), choose.choice((*KEYS, "u1", "u2", "u3"))
        limit = choose.choice((1, 2, 32, 64, 0, -1))
        begin = choose.choice((0, self.time - choose.randrange(40_000)))
        end = choose.choice((1 << 62, self.time - choose.randrange(20_000)))

        def query() -> str:
            result = query_message(store.index, store.log, topic, key, limit, begin, end)
            sent = "".join(f"{len(m.data)}:{zlib.crc32(m.data):x}," for m in result.messages)
            return f"{sent}{result.last_update_timestamp},{result.last_update_phy_offset}"

        self.run(f"query {hexed(topic)} {hexed(key)} {limit} {begin} {end}", query)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 7))])
def test_lives(seed: int, real_classes: RealClasses, tmp_path: Path) -> None:
    history = StartHistory(seed, tmp_path / "ours")
    for number in range(40 if seed == 1 else 100):
        history.one(number)
    history.drop()
    assert not first_differences(history, real_classes("StartCompare", history.lines))
