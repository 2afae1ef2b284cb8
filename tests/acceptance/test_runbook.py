"""The runbook, section by section, on stores of a real broker in the state of each symptom; the real broker starts at its end."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from kill_cycle import QUEUES, TOPIC, make_topics
from real_broker import Acknowledged, RealBroker
from runbook import blocks, restore_command, run_block
from written_store import CONFIG, Written, send

pytestmark = [pytest.mark.java, pytest.mark.soak]


class Operator:
    """Someone with a stopped broker, a shell and the runbook.

    Args:
        broker: it is down.
        folder: the directory of the operator's shell.
        wanted: a message that is to be found.
    """

    def __init__(self, broker: RealBroker, folder: Path, wanted: Acknowledged) -> None:
        self.broker = broker
        self.folder = folder
        self._wanted = wanted
        broker.command()  # writes its configuration
        (folder / "store").symlink_to(broker.store)
        shutil.copy(broker.folder / "broker.properties", folder / "broker.conf")

    def run(self, block: str, *, notes: bool = False) -> str:
        """Runs a block; what it printed."""
        return run_block(block, self.folder, topic=TOPIC, key=self._wanted.key, notes=notes)

    def follow(self, number: int) -> str:
        """Runs a section, rolls it back, and runs it again."""
        before = content(self.broker.store)
        *look, placed = blocks(number)
        for block in look:
            self.run(block)
        self.run(placed)
        self.run(restore_command(number))
        assert content(self.broker.store) == before
        printed = self.run(placed)
        assert "error" not in printed
        return printed

    def follow_section_2(self) -> None:
        """What is to be done after a kill, by what `audit --restart` prints."""
        (look,) = blocks(2)
        printed = self.run(look, notes=True)
        assert (self.folder / "saved" / "index").is_dir()
        last = next((line for line in printed.splitlines() if line.startswith("with messageIndexSafe")), "")
        if " 0 keys lost" in last:
            self.start(messageIndexSafe="true")
            return
        self.start()
        self.broker.stop()
        self.run(blocks(3)[0])
        self.start()

    def start(self, **settings: str) -> None:
        """Starts the broker."""
        self.broker.start(**settings)
        make_topics(self.broker)

    def check(self, messages: Sequence[Acknowledged]) -> None:
        """Asserts that the running broker finds each message by key, and that its queues have it; stops the broker."""
        found = self.broker.query(TOPIC, [one.key for one in messages])
        assert [set(offsets) for offsets in found] == [{one.offset} for one in messages]
        bounds = self.broker.ask("bounds", topic=TOPIC, queues=QUEUES)
        for one in messages:
            first, end = bounds[one.queue_id]
            assert first <= one.queue_offset < end
        printed = self.run('rocketspec audit "$STORE"')
        assert "error" not in printed
        self.broker.stop()


def content(store: Path) -> dict[str, bytes]:
    """The files that a section may touch."""
    files = (path for path in store.rglob("*") if path.is_file() and path.parent.name != "config")
    return {path.relative_to(store).as_posix(): path.read_bytes() for path in files}


def placed(broker: RealBroker, source: Path) -> Path:
    """A copy of a store in the broker's place."""
    shutil.rmtree(broker.store)
    shutil.copytree(source, broker.store)
    return broker.store


def last_of(store: Path, folder: str) -> Path:
    return max(path for path in (store / folder).rglob("*") if path.is_file())


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def test_a_message_is_not_found(broker: RealBroker, written: Written, tmp_path: Path) -> None:
    """Section 1 leads to section 3."""
    store = placed(broker, written.stopped)
    last_of(store, "index").unlink()
    wanted = written.acknowledged[-1]
    operator = Operator(broker, tmp_path, wanted)
    printed = operator.run(blocks(1)[0])
    assert "the index ends before, at " in printed
    assert f"physical offset {wanted.offset:,}" in printed
    assert printed.splitlines()[-1] == "1 message"
    operator.follow(3)
    operator.start()
    operator.check(written.acknowledged)


@pytest.mark.parametrize("safe", [True, False], ids=["as printed", "the other way"])
def test_the_broker_was_killed(broker: RealBroker, written: Written, tmp_path: Path, *, safe: bool) -> None:
    placed(broker, written.killed)
    every = [*written.acknowledged, *written.later]
    operator = Operator(broker, tmp_path, every[-1])
    if safe:
        operator.follow_section_2()
    else:
        operator.run(blocks(2)[0])
        operator.start()
        broker.stop()
        operator.follow(3)
        operator.start()
    operator.check(every)


QUEUES_OF_TOPIC = f"consumequeue/{TOPIC}"


@pytest.mark.parametrize(
    ("section", "damage"),
    [
        pytest.param(3, lambda store: shutil.rmtree(store / "index"), id="index gone"),
        pytest.param(3, lambda store: cut(last_of(store, "index")), id="index file cut"),
        pytest.param(3, lambda store: min((store / "index").iterdir()).unlink(), id="index file gone"),
        pytest.param(4, lambda store: shutil.rmtree(store / "consumequeue"), id="queues gone"),
        pytest.param(4, lambda store: cut(last_of(store, QUEUES_OF_TOPIC)), id="queue cut"),
        pytest.param(
            4,
            lambda store: last_of(store, f"{QUEUES_OF_TOPIC}/0").write_bytes(bytes(6000)),
            id="queue zeroed",
        ),
    ],
)
def test_index_or_queues_are_gone_or_damaged(
    broker: RealBroker, written: Written, tmp_path: Path, section: int, damage: Callable[[Path], object]
) -> None:
    damage(placed(broker, written.stopped))
    operator = Operator(broker, tmp_path, written.acknowledged[-1])
    printed = operator.follow(section)
    assert ("the last stop was clean" if section == 3 else "store: no findings") in printed
    operator.start()
    operator.check(written.acknowledged)


def kept(store: Path, messages: Sequence[Acknowledged]) -> list[Acknowledged]:
    """The messages whose log file is still there."""
    size = int(CONFIG["mappedFileSizeCommitLog"])
    there = {int(path.name) for path in (store / "commitlog").iterdir()}
    return [one for one in messages if one.offset // size * size in there]


def test_the_log_is_shorter_than_its_index_and_queues(
    broker: RealBroker, written: Written, tmp_path: Path
) -> None:
    """Messages that are sent afterwards are found, too."""
    store = placed(broker, written.stopped)
    last_of(store, "commitlog").unlink()
    left = kept(store, written.acknowledged)
    assert len(left) < len(written.acknowledged)
    operator = Operator(broker, tmp_path, left[-1])
    operator.follow(5)
    operator.start()
    operator.check([*left, *send(broker, 13, 300)])


def test_the_log_itself_is_damaged(broker: RealBroker, written: Written, tmp_path: Path) -> None:
    """A file in the middle is gone: what is left is decoded, and section 5 serves it."""
    store = placed(broker, written.stopped)
    sorted((store / "commitlog").iterdir())[1].unlink()
    left = kept(store, written.acknowledged)
    operator = Operator(broker, tmp_path, left[-1])
    operator.run(blocks(6)[0], notes=True)
    assert (tmp_path / "left" / "commit_log.parquet").stat().st_size
    for block in blocks(5):
        operator.run(block, notes=True)
    operator.start()
    found = broker.query(TOPIC, [one.key for one in left])
    assert [set(offsets) for offsets in found] == [{one.offset} for one in left]
    broker.stop()
