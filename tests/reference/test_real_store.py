"""Queue, ext queue and index service beside the real classes of 4.9.3, over seeded histories with damage.

`StoreCompare.java` runs the operations there. After each, everything is compared: what it returned or
threw, the state in memory, and every byte on disk.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocket_reference import (
    ConsumeQueue,
    ConsumeQueueExt,
    DispatchRequest,
    IndexService,
    QueueTable,
    StoreCheckpoint,
    encode_ext_unit,
    encode_queue_unit,
    file_name,
    java,
    queue_file_size,
)
from rocket_reference.consume_queue import PRE_BLANK, QueueUnit
from store_history import T0, History, first_differences, hexed, positions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    RealClasses = Callable[[str, Sequence[str]], list[str]]

pytestmark = pytest.mark.java


class QueueHistory(History):
    """A consume queue: laid files, puts, reads, recovery, truncation, clean-up, reopening, damage."""

    SIZES = (20, 40, 60, 60, 100, 200)
    TAGS = (0, 1, -1, java.I32_MIN, java.I32_MIN - 1, java.I64_MIN, java.I64_MIN + 28, T0)

    def __init__(self, seed: int, directory: Path) -> None:
        super().__init__(seed, directory)
        self.table: QueueTable | None = None
        self.queue: ConsumeQueue | None = None
        self.size = 60
        self.ext_size: int | None = None
        self.phy = 0

    def state(self) -> str:
        queue = self.queue
        if queue is None:
            return ""
        bounds = queue.bounds()
        numbers = (queue.min_logic_offset, bounds.min, bounds.max, bounds.max_physic_offset)
        files = [queue.files] if queue.ext is None else [queue.files, queue.ext.files]
        return ",".join((*map(str, numbers), *map(positions, files)))

    def drop(self) -> None:
        if self.table is not None:
            self.table.close()
        self.table = self.queue = None

    def open(self) -> None:
        raw = self.size - self.choose.choice((0, 0, 5, 19))

        def enter() -> None:
            self.drop()
            self.table = QueueTable(
                self.root / "consumequeue",
                queue_file_size(raw),
                ext_file_size=self.ext_size,
                sleep=lambda _milliseconds: None,
            )
            self.queue = self.table.find("T", 0)

        self.run(f"queue.open {raw} {'-' if self.ext_size is None else self.ext_size}", enter)

    def unit(self) -> QueueUnit:
        choose = self.choose
        kind = choose.randrange(12)
        if kind == 0:
            return PRE_BLANK
        if kind == 1:
            return QueueUnit(0, 0, 0)
        if kind == 2:
            offset = choose.choice((-1, java.I64_MIN, java.I64_MAX, 0))
            return QueueUnit(offset, choose.choice((-1, 0, 1, java.I32_MAX, java.I32_MIN)), 0)
        self.phy += 100
        return QueueUnit(self.phy, choose.choice((100, 100, 50)), choose.choice(self.TAGS))

    def lay(self) -> None:
        """Files as an earlier run, or none, could have left them."""
        choose = self.choose
        base = choose.choice((0, 0, 1, 3, -2, 1 << 40)) * self.size
        for number in range(choose.randrange(6)):
            if choose.random() < 0.05:
                base += self.size * choose.choice((1, -3))
            name = file_name(base + number * self.size)
            if choose.random() < 0.03:
                name = choose.choice(
                    (file_name(30 + number * self.size), "abc", "+00000000000000000060", "7")
                )
            data = b"".join(encode_queue_unit(self.unit()) for _ in range(self.size // 20))
            if choose.random() < 0.04:
                data = data[: choose.choice((0, 10, len(data) - 1))]
            self.write(f"consumequeue/T/0/{name}", 0, data)

    def damage(self) -> None:
        choose = self.choose
        folder = self.root / "consumequeue/T/0"
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        if not names:
            return
        name = choose.choice(names)
        position = 20 * choose.randrange(self.size // 20)
        self.write(f"consumequeue/T/0/{name}", position, encode_queue_unit(self.unit()))

    def one(self, number: int) -> None:
        choose = self.choose
        self.begin(number)
        self.size = choose.choice(self.SIZES)
        self.ext_size = choose.choice((None, None, None, 60, 100, 500))
        self.phy = choose.choice((0, 0, 5000))
        if choose.random() < 0.5:
            self.lay()
        self.open()
        if choose.random() < 0.6:
            self.start()
        for _ in range(choose.randrange(4, 30)):
            self.operation()
        self.drop()

    def start(self) -> None:
        """Load, recover and correct, as a broker does, or only a part of it."""
        queue = self.queue
        if queue is not None:
            self.run("queue.load", queue.load)
            if self.choose.random() < 0.8:
                self.run("queue.recover", queue.recover)

    def offset(self) -> int:
        return max(0, self.phy - 100 * self.choose.randrange(-2, 12)) + self.choose.choice(
            (0, 0, 0, 1, -1, 50)
        )

    def operation(self) -> None:  # noqa: C901 - one branch for each kind
        choose, queue = self.choose, self.queue
        if queue is None:
            return
        kind = choose.randrange(40)
        if kind < 17:
            self.put(queue)
        elif kind < 22:
            index = choose.choice((0, 1, 2, 5, -1, choose.randrange(30), 1 << 60, queue.bounds().max - 1))
            self.run(f"queue.get {index}", lambda: self.got(queue, index))
        elif kind < 25:
            self.run("queue.recover", queue.recover)
        elif kind < 28:
            offset = self.offset()
            self.run(f"queue.truncate {offset}", lambda: queue.truncate(offset))
        elif kind < 30:
            offset = self.offset()
            self.run(f"queue.correct_min {offset}", lambda: queue.correct_min(offset))
        elif kind < 32:
            offset = self.offset()
            self.run(f"queue.delete_expired {offset}", lambda: queue.delete_expired(offset))
        elif kind < 35:
            self.run("queue.last_offset", queue.last_offset)
        elif kind == 35:
            offset = choose.choice((0, self.size * 2, -self.size, choose.randrange(300), java.I64_MIN))
            self.run(f"queue.reset {offset}", lambda: queue.files.reset_offset(offset))
        elif kind == 36 and choose.random() < 0.2:
            self.run("queue.destroy", queue.destroy)
        else:
            self.run("drop", self.drop)
            if choose.random() < 0.6:
                self.damage()
            self.open()
            self.start()

    @staticmethod
    def got(queue: ConsumeQueue, index: int) -> str:
        unit = queue.get(index)
        return "null" if unit is None else f"{unit.phy_offset},{unit.size},{unit.tags_code}"

    def put(self, queue: ConsumeQueue) -> None:
        choose = self.choose
        if choose.random() < 0.8:
            self.phy += 100
        offset = self.phy + choose.choice((0, 0, 0, 0, 0, -100, 1, -5000))
        size = choose.choice((100, 100, 100, 50, 1, 0, -1))
        tags = choose.choice(self.TAGS)
        after = queue.bounds().max
        index = choose.choice(
            (after, after, after, after, 0, after + 1, after + 4, after - 1, -3, choose.randrange(40))
        )
        if choose.random() < 0.02:
            index = choose.choice((1 << 59, java.I64_MAX, java.I64_MIN, 922337203685477580))
        if choose.random() < 0.3 and self.table is not None:
            bits = bytes(choose.randrange(256) for _ in range(choose.choice((0, 0, 1, 8, 20, 70))))
            request = DispatchRequest("T", 0, offset, size, tags, T0 + offset, index, success=True)
            table = self.table
            line = f"queue.dispatch {offset} {size} {tags} {T0 + offset} {index} {bits.hex() or '-'}"
            self.run(line, lambda: table.dispatch(request, StoreCheckpoint(), bit_map=bits))
            return
        self.run(f"queue.put {offset} {size} {tags} {index}", lambda: queue.put(offset, size, tags, index))


class ExtHistory(History):
    """An ext queue alone."""

    def __init__(self, seed: int, directory: Path) -> None:
        super().__init__(seed, directory)
        self.ext: ConsumeQueueExt | None = None
        self.size = 100
        self.addresses: list[int] = []

    def state(self) -> str:
        return "" if self.ext is None else positions(self.ext.files)

    def drop(self) -> None:
        if self.ext is not None:
            self.ext.close()
        self.ext = None

    def open(self) -> None:
        def enter() -> None:
            self.drop()
            self.ext = ConsumeQueueExt(self.root / "consumequeue_ext", "T", 0, self.size)

        self.run(f"ext.open {self.size} {self.choose.choice((0, 64, 200))}", enter)

    def damage(self) -> None:
        choose = self.choose
        folder = self.root / "consumequeue_ext/T/0"
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        if not names:
            name = file_name(choose.choice((0, 3)) * self.size)
            self.write(f"consumequeue_ext/T/0/{name}", 0, self.bytes())
            return
        size = choose.choice((0, -1, 1, 19, 20, 30, 60, 255, java.I64_MAX & 0x7FFF))
        data = size.to_bytes(2, "big", signed=True)
        self.write(f"consumequeue_ext/T/0/{choose.choice(names)}", choose.choice((0, 0, 18, 20, 38)), data)

    def bytes(self) -> bytes:
        data = b""
        while len(data) < self.size - 40:
            data += encode_ext_unit(7, T0, bytes(self.choose.randrange(10)))
        return data.ljust(self.size, b"\0")

    def one(self, number: int) -> None:
        choose = self.choose
        self.begin(number)
        self.size = choose.choice((22, 24, 25, 60, 100, 300))
        self.addresses = [0, java.I64_MIN, java.I64_MIN + 1, java.I32_MIN - 1, java.I64_MIN + 20]
        if choose.random() < 0.2:
            self.damage()
        self.open()
        for _ in range(choose.randrange(3, 25)):
            if self.ext is not None:
                self.operation(self.ext)
        self.drop()

    def operation(self, ext: ConsumeQueueExt) -> None:  # noqa: C901 - one branch for each kind
        choose = self.choose
        kind = choose.randrange(24)
        address = choose.choice(self.addresses) + choose.choice((0, 0, 0, 0, 2, 100))
        if kind < 10:
            bits = bytes(choose.randrange(256) for _ in range(choose.choice((0, 1, 8, 20, 60, 33000))))
            tags = choose.choice(QueueHistory.TAGS)

            def put() -> int:
                made = ext.put(tags, T0, bits)
                self.addresses.append(made)
                return made

            self.run(f"ext.put {tags} {T0} {bits.hex() or '-'}", put)
        elif kind < 15:
            self.run(f"ext.get {address}", lambda: self.got(ext, address))
        elif kind < 17:
            self.run("ext.recover", ext.recover)
        elif kind == 17:
            self.run(f"ext.truncate_max {address}", lambda: ext.truncate_by_max_address(address))
        elif kind == 18:
            self.run(f"ext.truncate_min {address}", lambda: ext.truncate_by_min_address(address))
        elif kind == 19:
            self.run("ext.bounds", lambda: f"{ext.min_address()},{ext.max_address()}")
        else:
            self.run("drop", self.drop)
            if choose.random() < 0.4:
                self.damage()
            self.open()
            opened = self.ext
            if opened is not None:
                self.run("ext.load", opened.load)
                if choose.random() < 0.8:
                    self.run("ext.recover", opened.recover)

    @staticmethod
    def got(ext: ConsumeQueueExt, address: int) -> str:
        unit = ext.get(address)
        if unit is None:
            return "null"
        return f"{unit.size},{unit.tags_code},{unit.store_timestamp},{unit.bit_map.hex()}"


class ServiceHistory(History):
    """The index service: laid files, builds that roll, queries, deletion, reopening, damage."""

    GEOMETRIES = (
        (7, 12),
        (1, 5),
        (2, 3),
        (3, 2),
        (5, 4),
        (4, 8),
        (0, 5),
        (-7, 12),
        (-3, 4),
        (-50, 3),
        (1 << 30, 4),
    )
    TOPICS = ("T", "AaTopic", "BBTopic", "\u4e2d")
    KEYS = ("Aa", "BB", "k", "", "\U0001f600", "\ud800", "a", "b")

    def __init__(self, seed: int, directory: Path) -> None:
        super().__init__(seed, directory)
        self.service: IndexService | None = None
        self.names = itertools.count(20990101000000000)
        self.geometry = (7, 12)
        self.offset = 0
        self.time = T0

    def state(self) -> str:
        service = self.service
        if service is None:
            return ""
        headers = [file.index.header() for file in service.files]
        return str(service.checkpoint.index_msg_timestamp) + "".join(
            f";{h.begin_timestamp},{h.end_timestamp},{h.begin_phy_offset},{h.end_phy_offset},"
            f"{h.hash_slot_count},{h.index_count}"
            for h in headers
        )

    def drop(self) -> None:
        if self.service is not None:
            self.service.close()
        self.service = None

    def open(self) -> None:
        times = (0, self.time, self.time - 1, self.time - 3000, java.I64_MAX, -1)
        index_time = self.choose.choice(times)

        def enter() -> None:
            self.drop()
            self.service = IndexService(
                self.root / "index",
                *self.geometry,
                new_name=lambda: str(next(self.names)),
                checkpoint=StoreCheckpoint(index_msg_timestamp=index_time),
            )

        slots, entries = self.geometry
        self.run(f"service.open {slots} {entries} {index_time}", enter)
        service = self.service
        if service is not None and self.choose.random() < 0.8:
            last_exit_ok = self.choose.random() < 0.5
            self.run(f"service.load {int(last_exit_ok)}", lambda: service.load(last_exit_ok=last_exit_ok))

    def one(self, number: int) -> None:
        choose = self.choose
        self.begin(number)
        self.geometry = choose.choice(self.GEOMETRIES)
        self.offset, self.time = choose.choice((0, 1000)), T0
        if choose.random() < 0.4:
            self.lay()
        self.open()
        for _ in range(choose.randrange(4, 30)):
            if self.service is not None and not self.ended:
                self.operation(self.service)
        self.drop()

    def lay(self) -> None:
        choose = self.choose
        size = max(40, 40 + 4 * self.geometry[0] + 20 * self.geometry[1]) & 0xFFFF
        for number in range(choose.randrange(5)):
            name = f"2020010100000{number:04}"
            if choose.random() < 0.08:
                name = choose.choice(("abc", "-5", "5x", "7", "99999999999999999999"))
            if choose.random() < 0.05:
                self.folder(f"index/{name}")
                continue
            header = b"".join(
                value.to_bytes(8, "big", signed=True)
                for value in (
                    self.any_time(),
                    self.any_time(),
                    100 * number,
                    100 * number + choose.randrange(200),
                )
            )
            counts = (choose.randrange(5), choose.choice((0, 1, 2, 5, 12, 11, -1, 1000)))
            header += b"".join(value.to_bytes(4, "big", signed=True) for value in counts)
            body = bytes(choose.choice((0, 0, 0, 0, 0, 0, 0, 1, 2, 3)) for _ in range(size - 40))
            data = (header + body)[: choose.choice((size, size, size, 40, 0, 45))]
            self.write(f"index/{name}", 0, data + bytes(choose.choice((0, 0, 0, 7))))

    def any_time(self) -> int:
        choose = self.choose
        edges = (0, -1, java.I64_MAX, java.I64_MIN, 999)
        return choose.choice(edges) if choose.random() < 0.1 else self.time + choose.randrange(-9000, 9000)

    def damage(self) -> None:
        folder = self.root / "index"
        names = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
        laid = [name for name in names if not name.startswith("2099")]
        if laid:
            value = self.choose.choice((0, 1, 2, 5, -1, 11, java.I32_MAX))
            data = value.to_bytes(4, "big", signed=True)
            self.write(f"index/{self.choose.choice(laid)}", self.choose.choice((36, 32, 40, 44, 80)), data)

    def operation(self, service: IndexService) -> None:
        choose = self.choose
        kind = choose.randrange(30)
        if kind < 18:
            self.build(service)
        elif kind < 25:
            topic, key = choose.choice(self.TOPICS), choose.choice(self.KEYS)
            limit = choose.choice((0, 1, 2, 32, 64, 100, -1))
            begin, end = choose.choice((0, self.any_time())), choose.choice((java.I64_MAX, self.any_time()))

            def query() -> str:
                found = service.query(topic, key, limit, begin, end)
                return f"{found.offsets}{found.last_update_timestamp},{found.last_update_phy_offset}"

            self.run(f"service.query {hexed(topic)} {hexed(key)} {limit} {begin} {end}", query)
        elif kind < 28:
            offset = max(0, self.offset + choose.randrange(-3000, 500))
            self.run(f"service.delete_expired {offset}", lambda: service.delete_expired(offset))
        else:
            self.run("drop", self.drop)
            if choose.random() < 0.4:
                self.damage()
            self.open()

    def build(self, service: IndexService) -> None:
        """One message; with so few keys that it makes at most one file."""
        choose = self.choose
        self.offset += choose.choice((100, 100, 100, 0, -150, 1))
        self.time += choose.choice((0, 1, 999, 1000, 1001, 60_000, -2000))
        most = max(1, self.geometry[1] - 1)
        keys = [choose.choice(self.KEYS) for _ in range(choose.randrange(min(most, 5) + 1))]
        unique = choose.choice((None, "u1", "u2", "")) if len(keys) < most else None
        text = choose.choice((None, "")) if not keys else choose.choice((" ", " ", "  ")).join(keys)
        request = DispatchRequest(
            choose.choice(self.TOPICS),
            commit_log_offset=self.offset,
            store_timestamp=self.any_time() if choose.random() < 0.1 else self.time,
            keys=text,
            uniq_key=unique,
            sys_flag=choose.choice((0, 0, 0, 4, 8, 12, 13, 16)),
        )

        def build() -> None:
            try:
                service.build(request)
            finally:
                service.settle()

        fields = (hexed(request.topic), hexed(unique), hexed(text), request.commit_log_offset)
        self.run(
            "service.build " + " ".join(map(str, (*fields, request.store_timestamp, request.sys_flag))), build
        )


@pytest.mark.parametrize(("kind", "count"), [(QueueHistory, 1000), (ExtHistory, 500), (ServiceHistory, 500)])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 7))])
def test_histories(
    kind: type[QueueHistory | ExtHistory | ServiceHistory],
    count: int,
    seed: int,
    real_classes: RealClasses,
    tmp_path: Path,
) -> None:
    history = kind(seed, tmp_path / "ours")
    for number in range(count):
        history.one(number)
    history.drop()
    assert not first_differences(history, real_classes("StoreCompare", history.lines))
