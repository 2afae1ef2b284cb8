"""Queues by the logical offsets of their records, as the reference puts them; and a disk that is full."""

import errno
import gc
import random
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from rocket_reference import ConsumeQueue
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, contents, put, record


def log_of(root: Path, offsets: Sequence[int], topics: Sequence[bytes] = (b"T",)) -> Path:
    """A log whose records have these logical offsets, their topics in turn."""
    data = b""
    for number, logical in enumerate(offsets):
        data += record(
            len(data),
            topic=topics[number % len(topics)],
            queue_offset=logical,
            store_timestamp=BEGIN + 1000 * number,
        )
    put(root, f"commitlog/{0:020}", data.ljust(-(-len(data) // 4096) * 4096, b"\0"))
    return root


def put_by_reference(root: Path, offsets: Sequence[int]) -> dict[str, bytes]:
    """The files of the queue that the reference makes of the last life in `log_of`, which are those of 4.9.3's puts.

    A record with the logical offset 0 is the first one of a queue without files: the broker had deleted those before.
    """
    size, begin = len(record(0)), max((at for at, logical in enumerate(offsets) if logical == 0), default=0)
    with closing(ConsumeQueue(root / "reference" / "consumequeue", "T", 0, 100)) as queue:
        for number, logical in list(enumerate(offsets))[begin:]:
            assert queue.put(number * size, size, 0, logical)
    return contents(root / "reference" / "consumequeue")


def random_offsets(seed: int) -> list[int]:
    """Mostly steps of one; repeats, steps back and zeros between; at most one jump, since two contradict each other."""
    dice = random.Random(seed)
    offsets = [dice.choice([0, 1, 7, 12])]
    for _ in range(30):
        offsets.append(max(offsets[-1] + dice.choice([1] * 9 + [0, -1, -4]), 0))
    at = dice.randrange(25, 32)
    offsets[at:] = [offset + 6 for offset in range(max(offsets), max(offsets) + 31 - at)]
    return offsets


@pytest.mark.parametrize(
    "offsets",
    [
        pytest.param([0, 1, 1, 4], id="repeated, and a gap"),
        pytest.param([7, 8, 3, 9], id="begins later, and goes back"),
        pytest.param([5, 0, 1, 6], id="counts from 0 again"),
        pytest.param([3, 4, 2], id="skipped at the end of a file"),
        pytest.param([-3, 0, 1], id="negative"),
        *(pytest.param(random_offsets(seed), id=f"random {seed}") for seed in range(20)),
    ],
)
def test_logical_offsets(offsets: list[int], tmp_path: Path) -> None:
    put(tmp_path / "store", f"consumequeue/T/0/{0:020}", bytes(100))  # five units a file
    done = rebuild(log_of(tmp_path / "store", offsets), tmp_path / "made", geometry=Geometry(4, 8))
    assert done.findings == ()
    assert contents(tmp_path / "made" / "consumequeue") == put_by_reference(tmp_path, offsets)


def test_the_greatest_java_long_and_others_after_it(tmp_path: Path) -> None:
    put(tmp_path / "store", f"consumequeue/T/0/{0:020}", bytes(100))
    store = log_of(tmp_path / "store", [2**63 - 1, 2**63 - 1, 0, 5])
    assert rebuild(store, tmp_path / "made", geometry=Geometry(4, 8)).records == 4


def test_a_full_disk_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rocket_columnar.index.bulk_build.put_entries", full)
    store = open_store("live-copy", tmp_path / "golden")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with pytest.raises(OSError, match="No space left"):
            rebuild(store, tmp_path / "out", geometry=Geometry(4, 8))
        gc.collect()
    assert not (tmp_path / "out").exists()
