"""What the real 4.9.3 dispatches of logs with multi-dispatch: a rebuild writes it byte for byte, an audit finds it sound."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.rebuild import rebuild
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, contents, record

RealClasses = Callable[[str, Sequence[str]], list[str]]

pytestmark = pytest.mark.java

STORES = 30
LOG_SIZE = 1 << 16
QUEUES = ("%LMQ%a", "%LMQ%b", "T", "U", "W")
"""Copies go into light queues, queues of other topics, and of the record's own."""


class Log:
    """Records with the logical offsets that `MultiDispatch` and `CommitLog.doAppend` 1314-1385 give them."""

    def __init__(self, choose: random.Random, *, light: bool) -> None:
        self.data = b""
        self._choose = choose
        self._light = light
        self._next: dict[tuple[str, int], int] = {}

    def append(self, count: int) -> bytes:
        """The bytes of more records, which begin where the last ones end."""
        begin = len(self.data)
        for number in range(count):
            self._one(number)
        return self.data[begin:]

    def restart(self) -> None:
        """The offsets of light queues are forgotten."""
        if self._light:
            self._next = {
                queue: number for queue, number in self._next.items() if not queue[0].startswith("%LMQ%")
            }

    def _one(self, number: int) -> None:
        choose = self._choose
        topic, queue_id = choose.choice("TU"), choose.randrange(2)
        names = [choose.choice(QUEUES) for _ in range(choose.choice((0, 0, 1, 1, 2, 3)))]
        own = topic, queue_id
        queues = [(name, 0 if self._light and name.startswith("%LMQ%") else queue_id) for name in names]
        offsets = [self._next.get(queue, 0) for queue in queues]
        pairs = [f"KEYS\1k{number}", f"TAGS\1{choose.choice('ab')}"]
        if names:
            texts = ",".join(names), ",".join(map(str, offsets))
            pairs += [f"INNER_MULTI_DISPATCH\1{texts[0]}", f"INNER_MULTI_QUEUE_OFFSET\1{texts[1]}"]
        self.data += record(
            len(self.data),
            topic=topic.encode(),
            queue_id=queue_id,
            queue_offset=self._next.get(own, 0),
            properties="\2".join(pairs).encode() + b"\2",
            store_timestamp=BEGIN + len(self.data),
        )
        for queue, offset in [(own, self._next.get(own, 0)), *zip(queues, offsets, strict=True)]:
            self._next[queue] = offset + 1


def test_queues_of_multi_dispatch(real_classes: RealClasses, tmp_path: Path) -> None:
    """Two starts each, the second after a crash that left what was written meanwhile undispatched."""
    lines = []
    for number in range(STORES):
        choose = random.Random(number)
        light = number % 3 != 0
        queue_size = choose.choice((40, 100, 400))
        log = Log(choose, light=light)
        lines.append(f"root {number}")
        for _ in range(2):
            begin = len(log.data)
            more = log.append(choose.randrange(1, 40))
            lines += [
                f"write commitlog/{0:020} {begin} {more.hex()}",
                f"length commitlog/{0:020} {LOG_SIZE}",
                f"new {LOG_SIZE} {queue_size} - 1 {int(light)} 0 0 1",
                "load", "start", "drop",
            ]  # fmt: skip
            log.restart()
    answers = real_classes("StartCompare", lines)
    assert len(answers) == len(lines)
    for number in range(STORES):
        store, out = tmp_path / "theirs" / str(number), tmp_path / "rebuilt" / str(number)
        found = audit(store)
        assert (number, [finding for finding in found if finding.severity != "note"]) == (number, [])
        # A put that is skipped leaves an empty file of a light queue (CQ-PUT-2), of which the next start takes a unit (CQ-TRUNC-3).
        empty = [store / finding.file for finding in found if finding.code == "queue.empty"]
        assert all("%LMQ%" in path.as_posix() and not any(path.read_bytes()) for path in empty)
        rebuild(store, out, geometry=Geometry(7, 1000))
        theirs, ours = (contents(root / "consumequeue") for root in (store, out))
        assert (number, ours.keys()) == (number, theirs.keys())
        assert (number, [name for name in ours if ours[name] != theirs[name]]) == (number, [])
