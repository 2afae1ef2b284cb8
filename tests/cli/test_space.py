"""`inspect --space`: bytes by topic and queue, live and expired, what a broker deletes next, and the index files that can go.

Expected values are sums over what the real broker's classes read from the store, of which the two oldest log files are deleted.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from golden_truth import lines
from verb_run import Verb

BEGIN = 65_536


@pytest.fixture
def store(mixed: Path) -> Path:
    for name in ("00000000000000000000", "00000000000000032768"):
        (mixed / "commitlog" / name).unlink()
    os.utime(mixed / "commitlog" / f"{BEGIN:020}", (1_700_000_000, 1_700_000_000))
    return mixed


def test_bytes_by_queue(store: Path, verb: Verb) -> None:
    found = json.loads(verb("inspect", store, "--space", "--json").out)
    live: Counter[tuple[str, int]] = Counter()
    count: Counter[tuple[str, int]] = Counter()
    gone: Counter[tuple[str, int]] = Counter()
    for unit in lines("mixed")["queue_unit"]:
        name = unit["topic"], unit["queue_id"]
        if unit["phy_offset"] < BEGIN:
            gone[name] += 1
        else:
            live[name] += unit["size"]
            count[name] += 1
    files: Counter[tuple[str, int]] = Counter()
    for file in lines("mixed")["queue_file"]:
        _, topic, number, _ = file["file"].split("/")
        files[topic, int(number)] += file["size"]
    shown = {(queue["topic"], queue["queue_id"]): queue for queue in found["queues"]}
    assert set(shown) == {(queue["topic"], queue["queue_id"]) for queue in lines("mixed")["queue"]}
    for name, queue in shown.items():
        numbers = [queue[field] for field in ("messages", "log_bytes", "expired", "file_bytes")]
        assert numbers == [count[name], live[name], gone[name], files[name]]
    last = lines("mixed")["log_record"][-1]
    assert found["log_bytes"] == last["phy_offset"] + last["size"] - BEGIN
    order = [queue["log_bytes"] for queue in found["queues"]]
    assert order == sorted(order, reverse=True)


def test_what_a_broker_deletes_next(store: Path, verb: Verb, tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("fileReservedTime=48\ndeleteWhen=02;14\n")
    found = json.loads(verb("inspect", store, "--space", "--json", "--broker-conf", conf).out)
    name = f"commitlog/{BEGIN:020}"
    assert found["aging"] == [
        {"file": name, "size": 32_768, "modified": 1_700_000_000_000, "expires": 1_700_172_800_000}
    ]
    shown = verb("inspect", store, "--space", "--broker-conf", conf).out
    assert (
        f"{name}, 32,768 bytes: last modified 2023-11-14T22:13:20.000Z, expires 2023-11-16T22:13:20.000Z"
        in shown
    )
    assert "(fileReservedTime 48)" in shown
    assert "in the hours 02;14 of its local time" in shown
    assert "expires 2023-11-17T22:13:20.000Z (fileReservedTime 72)" in verb("inspect", store, "--space").out


def test_index_files_that_can_go(store: Path, verb: Verb) -> None:
    headers = lines("mixed")["index_header"]
    gone = [header["file"] for header in headers if header["end_phy_offset"] < BEGIN]
    assert 0 < len(gone) < len(headers)
    assert json.loads(verb("inspect", store, "--space", "--json").out)["spare_indexes"] == gone
    assert f"their records are gone: {', '.join(gone)}\n" in verb("inspect", store, "--space").out


def test_the_lines_fit_80_columns_but_for_the_last_three(store: Path, verb: Verb) -> None:
    shown = verb("inspect", store, "--space").out.splitlines()
    assert max(map(len, shown[:-3])) <= 80


def test_a_file_has_no_space(store: Path, verb: Verb) -> None:
    done = verb("inspect", store / "checkpoint", "--space")
    assert done.is_one_line(2, f"{store / 'checkpoint'}: is a file; --space requires a store\n")
