"""What the real broker wrote and answered, from its commit logs alone: queues, index files, restart, queries."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from reference_starts import bit_maps_of, config_of, names
from rocket_reference import DispatchRequest, MessageStore
from rocket_reference.query_message import query_message

# The stores that are whole: what their files hold follows from their commit log. Not among them:
#   expired                 the broker deleted the log that its first units and entries came from;
#   killed, live-copy       the log runs ahead of the rest (killed-restarted shows what a start makes of it);
#   killed-restarted        its recovery deleted the last index file, and went back only as far as the
#                           checkpoint; held below against the start of the killed store.
WHOLE = (
    *("default-geometry", "ext", "ipv6", "live", "lmq", "mixed", "replica", "replica-late-slave"),
    *("replica-slave", "small-roll", "transactions"),
)


def content(store: Path, *parts: str) -> dict[str, bytes]:
    """The files of some parts of a store; an index file by its place, as the clock named it."""
    files = {}
    for part in parts:
        for place, path in enumerate(sorted(path for path in (store / part).rglob("*") if path.is_file())):
            name = str(place) if part == "index" else path.relative_to(store / part).as_posix()
            files[f"{part}/{name}"] = path.read_bytes()
    return files


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


@pytest.mark.parametrize("name", WHOLE)
def test_the_commit_log_alone_gives_every_queue_and_index_file(name: str, tmp_path: Path) -> None:
    golden = rocket_golden.open_store(name, tmp_path / "golden")
    shutil.copytree(golden / "commitlog", tmp_path / "made/commitlog")
    made = MessageStore(
        tmp_path / "made", config_of(name), new_index_name=names(), bit_map=bit_maps_of(golden)
    )
    assert made.load()
    made.start()
    assert made.shutdown()
    parts = ("consumequeue", "consumequeue_ext", "index", "commitlog")
    assert not differing(content(tmp_path / "made", *parts), content(golden, *parts))


def test_the_start_of_the_killed_store(tmp_path: Path) -> None:
    killed = rocket_golden.open_store("killed", tmp_path / "killed")
    restarted = rocket_golden.open_store("killed-restarted", tmp_path / "restarted")
    truth = [line for line in rocket_golden.truth("killed-restarted") if line.get("start") == 2]
    before = {path.relative_to(killed).as_posix() for path in killed.rglob("*") if path.is_file()}
    dispatched: list[DispatchRequest] = []
    store = MessageStore(killed, config_of("killed"), new_index_name=names(), on_dispatch=dispatched.append)
    assert store.load()
    store.start()
    assert store.shutdown()
    after = {path.relative_to(killed).as_posix() for path in killed.rglob("*") if path.is_file()}
    assert before - after == {"abort"} | {line["file"] for line in truth if line["type"] == "deleted"}
    assert [told(request) for request in dispatched] == [
        (line["commit_log_offset"], line["msg_size"], line["tags_code"], line["consume_queue_offset"])
        for line in truth
        if line["type"] == "dispatch"
    ]
    parts = ("consumequeue", "index", "commitlog")
    assert not differing(content(killed, *parts), content(restarted, *parts))
    assert (killed / "checkpoint").read_bytes() == (restarted / "checkpoint").read_bytes()


@pytest.mark.parametrize("flag", ["disk_full", "logics_queue_error"])
def test_a_stop_that_may_be_wrong_keeps_abort(flag: str, tmp_path: Path) -> None:
    """Source: DefaultMessageStore.shutdown 339-344 (4.9.3)."""
    store = MessageStore(
        rocket_golden.open_store("small-roll", tmp_path), config_of("small-roll"), new_index_name=names()
    )
    assert store.load()
    store.start()
    setattr(store.flags, flag, True)
    assert not store.shutdown()
    assert (store.root / "abort").exists()


def told(request: DispatchRequest) -> tuple[int, int, int, int]:
    return request.commit_log_offset, request.msg_size, request.tags_code, request.consume_queue_offset


@pytest.mark.parametrize("name", [*WHOLE, "expired", "killed-restarted", "killed", "live-copy"])
def test_every_recorded_query(name: str, tmp_path: Path) -> None:
    """A start would delete index files of the last two first: log and index are mapped, and nothing is recovered."""
    store = MessageStore(rocket_golden.open_store(name, tmp_path), config_of(name), new_index_name=names())
    if name in {"killed", "live-copy"}:
        assert store.log.load()
        assert store.index.load(last_exit_ok=True)
    else:
        assert store.load()
    queries = [line for line in rocket_golden.truth(name) if line["type"] == "query"]
    assert queries
    differ = (line for line in queries if answered(store, line) != recorded(line))
    assert list(itertools.islice(differ, 3)) == []
    store.close()


def recorded(line: dict[str, Any]) -> dict[str, Any]:
    names = ("offsets", "last_update_timestamp", "last_update_phy_offset", "messages")
    extra = ("messages_last_update_timestamp", "messages_last_update_phy_offset")
    return {name: line[name] for name in (*names, *extra)}


def answered(store: MessageStore, line: dict[str, Any]) -> dict[str, Any]:
    asked = (line["topic"], line["key"], line["max_num"], line["begin"], line["end"])
    found = store.index.query(*asked)
    result = query_message(store.index, store.log, *asked)
    return {
        "offsets": found.offsets,
        "last_update_timestamp": found.last_update_timestamp,
        "last_update_phy_offset": found.last_update_phy_offset,
        "messages": [message.offset for message in result.messages],
        "messages_last_update_timestamp": result.last_update_timestamp,
        "messages_last_update_phy_offset": result.last_update_phy_offset,
    }
