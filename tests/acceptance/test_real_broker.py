"""The real broker beside our verbs: audited while it writes, started on what we rebuilt, killed and foretold.

One broker runs through the whole file, each part going on where the one before it ended, so that it starts as
rarely as can be.
"""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from incident_run import run
from real_broker import Acknowledged
from rocket_columnar.formats import OffsetId, make_offset_id, parse_offset_id, parse_unique_key
from rocket_columnar.query import OpenStore, find_by_offset_id, find_by_unique_key
from rocket_columnar.rebuild import rebuild
from scenario import QUEUES, TOPIC, Scenario, Start
from store_bytes import contents

pytestmark = pytest.mark.java

CONFIG = {
    "maxHashSlotNum": "997",
    "maxIndexNum": "12000",
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "6000",
    "flushConsumeQueueThoroughInterval": "500",
}
SECONDS = 3.0  # how long the store is looked at while it is written


@pytest.fixture(scope="module")
def broker(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenario]:
    del maven  # asked for so that its absence skips
    with Scenario(tmp_path_factory.mktemp("broker"), java, CONFIG) as site:
        yield site


@dataclass
class Live:
    """Runs of verbs on a store while it was written: exit code and output of each run of a verb."""

    audits: list[tuple[int, str]]
    others: dict[str, list[tuple[int, str]]]
    own: Path


@pytest.fixture(scope="module")
def live(broker: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Live:
    """The broker writes; the verbs run; then it is stopped."""
    scratch = tmp_path_factory.mktemp("decoded")
    broker.do("start", "send 1 900")
    seen = Live([], {"decode": [], "query": [], "digest": [], "restart": []}, scratch / "own")
    begun, store = time.monotonic(), str(broker.store)
    levels = ["--deep", "", "--quick"]
    query = ("query", store, "--topic", TOPIC, "--key", "id-0", "--json")
    while run(*query)[0] and time.monotonic() < begun + 60:  # until the first message is indexed
        time.sleep(0.1)
    begun = time.monotonic()
    while (
        time.monotonic() < begun + SECONDS or len(seen.audits) < len(levels) or broker.ask("count") < 300
    ) and (time.monotonic() < begun + 120):
        number = len(seen.audits)
        level = levels[number % len(levels)]
        seen.audits.append(run("audit", store, "--json", *([level] if level else [])))
        output = scratch / str(number)
        seen.others["decode"].append(run("decode", store, "-o", str(output), "--format", "parquet"))
        shutil.rmtree(output)
        seen.others["query"].append(run(*query))
        seen.others["restart"].append(run("audit", store, "--restart", "--json"))
        seen.others["digest"].append(run("digest", store, "--json"))
    broker.do("settle", "stop")
    shutil.copytree(broker.store, seen.own)
    return seen


def test_an_audit_of_a_store_that_is_written_finds_nothing_above_a_note(broker: Scenario, live: Live) -> None:
    assert len(broker.known) >= 300
    for code, output in live.audits:
        above = [line for line in map(json.loads, output.splitlines()) if line["severity"] != "note"]
        assert (code, above) == (0, [])


@pytest.mark.parametrize("verb", ["decode", "query", "digest", "restart"])
def test_a_store_that_is_written_is_read_without_an_error(broker: Scenario, live: Live, verb: str) -> None:
    runs = live.others[verb]
    assert len(runs) == len(live.audits) >= 3
    if verb == "restart":  # no start is predicted beside it
        assert {(code, tuple(json.loads(output))) for code, output in runs} == {(1, ("running",))}
        return
    assert [code for code, _ in runs] == [0] * len(runs), [output[-500:] for _, output in runs]
    if verb == "query":
        first = next(message.offset for message in broker.known if message.key == "id-0")
        assert [json.loads(output)["offsets"] for _, output in runs] == [[first]] * len(runs)


def test_ids_are_taken_apart_as_the_real_classes_do(broker: Scenario) -> None:
    unique = (
        "C000020254BF60E53B936A633EFE0001",
        "FFFFFFFFFFFFFFFFFFFF9F5EA000FFFF",
        "7F000001000000000000000000010000",
        "20010db80000000000000000000000018001DEADBEEF00000001FFFF",
    )
    offset = ("7F0000010000858F00000000000007D4", "20010DB80000000000000000000000010000000A7FFFFFFFFFFFFFFF")
    answers = iter(broker.ask("ids", unique=unique, offset=offset))
    now = time.time_ns() // 1_000_000
    for text in unique:
        key = parse_unique_key(text)
        address, pid, made = next(answers)
        assert (ip_address(key.client_ip), key.pid, key.time_before(now)) == (ip_address(address), pid, made)
    for text in offset:
        address, port, phy_offset = next(answers)
        shown = f"[{ip_address(address)}]:{port}" if ":" in address else f"{address}:{port}"
        assert parse_offset_id(text) == OffsetId(shown, phy_offset)


@pytest.fixture(scope="module")
def restored(broker: Scenario, live: Live) -> list[Acknowledged]:
    """Index and consume queues deleted and rebuilt; the broker runs on them; all that it acknowledged so far."""
    del live
    broker.do("rebuilt index consumequeue", "start")
    return list(broker.known)


def test_rebuilt_files_are_the_brokers_own_byte_for_byte(live: Live, tmp_path: Path) -> None:
    rebuild(live.own, tmp_path)
    assert contents(tmp_path / "consumequeue") == contents(live.own / "consumequeue")
    ours, theirs = contents(tmp_path / "index"), contents(live.own / "index")
    assert [ours[name] for name in sorted(ours)] == [theirs[name] for name in sorted(theirs)]


@pytest.mark.usefixtures("restored")
def test_the_real_tools_find_every_message_by_key_in_a_rebuilt_index(broker: Scenario) -> None:
    broker.look()


def test_the_real_client_finds_by_id_what_we_find(broker: Scenario, restored: list[Acknowledged]) -> None:
    with OpenStore(broker.store) as store:
        for message in restored[:: len(restored) // 5]:
            assert broker.ask("view", id=message.offset_id) == message.offset
            (row,) = find_by_offset_id(store, parse_offset_id(message.offset_id))
            assert make_offset_id(row["store_host"], row["phy_offset"]) == message.offset_id
            assert broker.ask("unique", topic=TOPIC, id=message.unique_key) == [message.offset]
            (row,) = find_by_unique_key(store, message.unique_key, store.store.has_queue)
            assert (row["phy_offset"], row["keys"].split(" ")[0]) == (message.offset, message.key)


def test_a_real_consumer_reads_every_message_once_from_rebuilt_queues(
    broker: Scenario, restored: list[Acknowledged]
) -> None:
    got = broker.ask("consume", topic=TOPIC, count=len(restored))
    assert sorted(got) == sorted(
        [message.queue_id, message.queue_offset, message.offset] for message in restored
    )


@pytest.fixture(scope="module")
def killed(broker: Scenario, restored: list[Acknowledged]) -> list[Start]:
    """Killed twice, started again without and with messageIndexSafe."""
    del restored
    # What the broker writes between the last look and the kill may leave nothing to lose.
    for seed in (2, 4, 5):
        broker.do(f"crash {seed} 300 3 until_lost", "foretold")
        first = broker.starts[-1]
        if first.predicted_lost:
            break
    broker.do("crash 3 450 0.9", "foretold messageIndexSafe=true")
    return [first, broker.starts[-1]]


@pytest.mark.parametrize("number", [0, 1])
def test_a_restart_after_kill_9_does_what_audit_said(killed: list[Start], number: int) -> None:
    """And the keys that it loses are those that audit said."""
    done = killed[number]
    assert not done.predicted.clean
    assert done.faults() == []
    assert any(file.startswith("index/") for file in done.deleted)
    if number == 0:
        assert done.predicted_lost
    already = killed[0].lost if number else set()
    assert done.lost - already == done.predicted_lost


@pytest.mark.usefixtures("killed")
def test_a_rebuild_after_the_restart_brings_every_key_back(broker: Scenario) -> None:
    broker.do("settle", "stop", "rebuilt index", "start", "look")


@pytest.mark.usefixtures("killed")
def test_no_message_is_lost_or_doubled_for_a_consumer_after_all_that(broker: Scenario) -> None:
    bounds: list[list[int]] = broker.ask("bounds", topic=TOPIC, queues=QUEUES)
    stored = sum(end - begin for begin, end in bounds)
    got: list[list[Any]] = broker.ask("consume", topic=TOPIC, count=stored)
    assert len({tuple(row) for row in got}) == len(got) == stored
    acknowledged = {(message.queue_id, message.queue_offset, message.offset) for message in broker.known}
    assert acknowledged <= {tuple(row) for row in got}
