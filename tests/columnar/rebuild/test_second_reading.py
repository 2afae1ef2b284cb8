"""A rebuild beside what the reference, which shares no code with it, dispatches of the same log: byte for byte."""

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from later_stores import FOLDER
from reference_starts import bit_maps_of, config_of, names
from rocket_columnar.facts import Store
from rocket_columnar.rebuild import rebuild
from rocket_golden import manifest, open_store, stores
from rocket_reference import (
    RULES_4_9_3,
    DispatchRequest,
    IndexService,
    QueueTable,
    Rules,
    StoreCheckpoint,
    StoreConfig,
    dispatch_requests,
    encode_record,
)
from rocket_spec.layout import Geometry
from rocket_spec.profiles import profile
from store_bytes import BEGIN, blank, put

PARTS = ("consumequeue", "consumequeue_ext", "index")
PLAIN = [
    name
    for name in sorted({*stores(log=None), *stores(unclean=True, log=None)})
    if not name.startswith("dledger") and name != "default-geometry"
]
"""The reference reads no frames of DLedger. Those stores, and 420 MB of index, are compared with the broker's files alone."""
LOG_FILE = 4096


def dispatch(
    logs: Sequence[Path],
    target: Path,
    config: StoreConfig,
    *,
    rules: Rules = RULES_4_9_3,
    bit_map: Callable[[DispatchRequest], bytes] = lambda _: b"",
) -> None:
    """Puts each record of a log into queues and index files below `target`."""
    times = StoreCheckpoint()
    queues = QueueTable(
        target / "consumequeue",
        config.queue_file_size,
        ext_file_size=config.ext_file_size,
        multi_dispatch=config.multi_dispatch,
        lmq=config.lmq,
    )
    geometry = config.hash_slot_num, config.index_num
    with (
        closing(queues),
        closing(
            IndexService(target / "index", *geometry, new_name=names(), checkpoint=times, rules=rules)
        ) as index,
    ):
        for log in logs:
            for request in dispatch_requests(log.read_bytes(), rules=rules):
                if request.success and request.msg_size > 0:
                    queues.dispatch(request, times, bit_map=bit_map(request))
                    index.build(request)
        index.settle()


def held(root: Path, *, without: Sequence[str] = ()) -> dict[str, bytes]:
    """The files of the parts by their names, an index file by its place, as the clock named it; some topics left out."""
    found: dict[str, bytes] = {}
    for part in PARTS:
        files = sorted(path for path in (root / part).rglob("*") if path.is_file())
        for place, path in enumerate(files):
            name = path.relative_to(root).as_posix() if part != "index" else f"index/{place}"
            if name.split("/")[1] not in without:
                found[name] = path.read_bytes()
    return found


def assert_same(made: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert any(name.startswith("index/") for name in other)
    assert any(name.startswith("consumequeue/") for name in other)
    assert [name for name in sorted(made.keys() | other.keys()) if made.get(name) != other.get(name)] == []


@pytest.mark.parametrize("name", PLAIN)
def test_golden_stores(name: str, tmp_path: Path) -> None:
    golden = open_store(name, tmp_path / "golden")
    logs = sorted(golden.glob("commitlog*/*"), key=lambda path: path.name)
    config = config_of(name)
    dispatch(logs, tmp_path / "reference", config, bit_map=bit_maps_of(golden))
    alone = golden
    if config.ext_file_size is None:  # of ext files a rebuild takes the bits
        for log in logs:
            put(tmp_path / "alone", f"commitlog/{log.name}", log.read_bytes())
        alone = tmp_path / "alone"
    geometry = Geometry(*manifest().stores[name].geometry)
    rebuild(alone, tmp_path / "made", geometry=geometry, queue_file_size=config.queue_file_size)
    assert_same(held(tmp_path / "made"), held(tmp_path / "reference"))


@pytest.mark.parametrize("version", [path.stem for path in sorted(FOLDER.glob("*.zip"))])
def test_stores_of_5(version: str, tmp_path: Path) -> None:
    shutil.unpack_archive(FOLDER / f"{version}.zip", tmp_path)
    store = Store(tmp_path / "store")
    assert store.geometry is not None
    config = StoreConfig(
        queue_file_size=store.queues[0].size(),
        hash_slot_num=store.geometry.hash_slot_num,
        index_num=store.geometry.index_num,
        multi_dispatch=store.multi_dispatch,
        lmq=store.light,
    )
    rules = replace(RULES_4_9_3, **profile(version).rules)
    dispatch([file.path for file in store.logs], tmp_path / "reference", config, rules=rules)
    rebuild(store, tmp_path / "made")
    batched = sorted({file.topic or "" for file in store.batches})  # the reference has no batch queues
    assert_same(held(tmp_path / "made", without=batched), held(tmp_path / "reference", without=batched))


def drawn_log(rng: random.Random) -> Iterator[bytes]:
    """Log files of records with delays, tags, transactions, keys and copies in light queues."""
    ends: Counter[tuple[str, int]] = Counter()
    time, data, begin = BEGIN, b"", 0
    for _ in range(rng.randrange(60, 160)):
        topic, queue = (
            rng.choice(("T", "Other", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC")),
            rng.randrange(3),
        )
        properties = {"UNIQ_KEY": f"U{rng.randrange(1 << 40):X}"} if rng.random() < 0.8 else {"p": "v"}
        if rng.random() < 0.7:
            properties["KEYS"] = rng.choice(("k", "a b", "a  b ", "é #", "key " * 9))
        if rng.random() < 0.6:
            properties["TAGS"] = rng.choice(("tag", " tag ", "日本", "😀", ""))
        if topic.startswith("SCHEDULE"):
            properties["DELAY"] = str(rng.choice((-1, 0, queue + 1, 18, 40)))
        kind = rng.choice((0, 0, 0, 4, 8, 12))
        if rng.random() < 0.3:
            copies = rng.choice((("%LMQ%a",), ("%LMQ%a", "%LMQ%b"), ("%LMQ%b", "Plain")))
            places = [(name, 0 if name.startswith("%") else queue) for name in copies]
            properties["INNER_MULTI_DISPATCH"] = ",".join(copies)
            properties["INNER_MULTI_QUEUE_OFFSET"] = ",".join(str(ends[place]) for place in places)
            ends.update(places if kind in (0, 8) else ())
        time += rng.choice((0, 1, 700, 5000, -300))
        message = encode_record(
            topic, rng.randbytes(rng.randrange(60)), properties, queue_id=queue, queue_offset=ends[topic, queue],
            phy_offset=begin + len(data), sys_flag=kind, store_timestamp=time,
            store_host=rng.choice(("127.0.0.1:1", "[::1]:1")),
        )  # fmt: skip
        if len(data) + len(message) + 8 > LOG_FILE:
            yield data + blank(LOG_FILE - len(data))
            begin += LOG_FILE
            data = b""
            message = message[:28] + begin.to_bytes(8) + message[36:]
        ends[topic, queue] += kind in (0, 8)
        data += message
    yield data.ljust(LOG_FILE, b"\0")


@pytest.mark.parametrize("seed", range(40))
def test_drawn_stores(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    store = tmp_path / "store"
    logs = [
        put(store, f"commitlog/{number * LOG_FILE:020}", data) for number, data in enumerate(drawn_log(rng))
    ]
    ext = rng.choice((None, 200, 1000))
    geometry = Geometry(rng.randrange(1, 12), rng.randrange(3, 60))
    config = StoreConfig(LOG_FILE, 20 * rng.randrange(1, 9), ext, *geometry, multi_dispatch=True, lmq=True)
    dispatch(logs, tmp_path / "reference", config, bit_map=lambda _: rng.randbytes(rng.randrange(9)))
    for part in PARTS[:2] if ext else ():  # a rebuild takes the bits from there
        shutil.copytree(tmp_path / "reference" / part, store / part)
    done = rebuild(store, tmp_path / "made", geometry=geometry, queue_file_size=config.queue_file_size)
    assert done.findings == ()
    assert_same(held(tmp_path / "made"), held(tmp_path / "reference"))
