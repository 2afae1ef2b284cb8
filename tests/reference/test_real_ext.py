"""The ext queue beside the real class of 4.9.3, over seeded histories with damage.

`ExtCompare.java` runs the operations there. After each, everything is compared: what it returned or threw, the state in memory, and
every byte on disk. Of index, service and queue, `tests/conformance/test_reference_vs_jar.py` does the same through the protocol,
which has no operations on ext queues.
"""

import itertools
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rocket_reference import ConsumeQueueExt, JavaError, UnspecifiedError, encode_ext_unit, file_name, java
from store_bytes import contents, overwrite

RealClasses = Callable[[str, Sequence[str]], list[str]]
T0 = 1700000000000

pytestmark = pytest.mark.java


class ExtHistory:
    """An ext queue by a seed: puts, reads, recovery, truncation, reopening, damage; each as a line and its answer."""

    TAGS = (0, 1, -1, java.I32_MIN, java.I32_MIN - 1, java.I64_MIN, java.I64_MIN + 28, T0)

    def __init__(self, seed: int, directory: Path) -> None:
        self.choose = random.Random(seed)
        self.directory = directory
        self.root = directory
        self.lines: list[str] = []
        self.answers: list[str] = []
        self.ended = False
        self.ext: ConsumeQueueExt | None = None
        self.size = 100
        self.addresses: list[int] = []

    def begin(self, number: int) -> None:
        """A fresh directory; whatever is open is dropped."""
        self.drop()
        self.ended = False
        self.root = self.directory / str(number)
        self.root.mkdir(parents=True)
        self.run(f"root {number}", lambda: None)

    def run(self, line: str, operation: Callable[[], object]) -> None:
        """One operation, unless the history met one before on which 4.9.3 never ends."""
        if self.ended:
            return
        try:
            answer = operation()
        except JavaError as error:
            answer = f"!{error.name}"
        except UnspecifiedError:
            self.ended = True
            return
        text = "-" if answer is None else str(answer).replace(" ", "")
        text = text.lower() if isinstance(answer, bool) else text
        self.lines.append(line)
        self.answers.append(f"{text} {self.state() or '-'} {self.files() or '-'}")

    def write(self, name: str, position: int, data: bytes) -> None:
        """Damage, or a file laid there."""

        def write() -> None:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            overwrite(path, position, data)

        self.run(f"write {name} {position} {data.hex()}", write)

    def state(self) -> str:
        files = [] if self.ext is None else self.ext.files.mapped_files
        shown = "".join(f"{file.file_from_offset}:{file.wrote_position}/" for file in files)
        return "" if self.ext is None else f"{shown}."

    def files(self) -> str:
        read = sorted(contents(self.root / "consumequeue_ext/T/0").items())
        return "".join(f"{name}={len(data)}:{zlib.crc32(data):x};" for name, data in read)

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
        names = sorted(contents(folder))
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

    def operation(self, ext: ConsumeQueueExt) -> None:
        choose = self.choose
        kind = choose.randrange(24)
        address = choose.choice(self.addresses) + choose.choice((0, 0, 0, 0, 2, 100))
        if kind < 10:
            bits = bytes(choose.randrange(256) for _ in range(choose.choice((0, 1, 8, 20, 60, 33000))))
            tags = choose.choice(self.TAGS)

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


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 150), pytest.param(2, 2500, marks=pytest.mark.soak)], ids=["150", "2,500"]
)
def test_histories(seed: int, count: int, real_classes: RealClasses, tmp_path: Path) -> None:
    history = ExtHistory(seed, tmp_path / "ours")
    for number in range(count):
        history.one(number)
    history.drop()
    theirs = real_classes("ExtCompare", history.lines)
    rows = zip(history.lines, history.answers, theirs, strict=True)
    assert list(itertools.islice((row for row in rows if row[1] != row[2]), 3)) == []
