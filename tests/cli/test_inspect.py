"""The verb `inspect`: files, bytes, plots, and one clear line for each bad input."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from golden_truth import lines
from matplotlib.figure import Figure
from store_bytes import BEGIN as T
from store_bytes import Entry, checkpoint, ext_unit, index_file, put, record, unit
from verb_run import Run

VERB = "inspect"

FIRST = "00000000000000000000"
INDEX = "20260101000000000"
ENTRIES = [Entry(8 + 7 * number % 50, 100 * number, number) for number in range(80)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    put(root, f"index/{INDEX}", index_file(11, 100, ENTRIES))
    put(root, f"consumequeue/T/0/{FIRST}", unit(0, 100, -7) + unit(100, 100, -7) + bytes(40))
    put(root, f"consumequeue_ext/T/0/{FIRST}", ext_unit(7, T, b"ab") + bytes(20))
    put(root, f"commitlog/{FIRST}", record(0) + bytes(100))
    put(root, "checkpoint", checkpoint(T, T, 0))
    return root


def test_an_index_file(run: Run, store: Path) -> None:
    code, out, err = run(store / "index" / INDEX)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{INDEX}: index file, 2,084 bytes"
    assert lines[1].startswith("geometry: 11 slots, 100 entries (inferred from size and content")
    assert any("begin_timestamp" in line and "2023-11-14T22:13:20.000Z" in line for line in lines)
    assert any(line.split()[:5] == ["entries", "80", "of", "99,", "80.8"] for line in lines)


def test_an_index_file_as_json(run: Run, store: Path) -> None:
    found = json.loads(run(store / "index" / INDEX, "--json").out)
    assert (found["file"], found["kind"], found["size"]) == (INDEX, "index", 2084)
    geometry = found["geometry"]
    assert (geometry["hash_slot_num"], geometry["index_num"], geometry["how"]) == (11, 100, "inferred")
    assert found["header"] == {
        "begin_timestamp": T,
        "end_timestamp": T + 79_000,
        "begin_phy_offset": 0,
        "end_phy_offset": 7900,
        "hash_slot_count": found["used_slots"],
        "index_count": 81,
    }
    assert sum(row["length"] * row["chains"] for row in found["chains"]) == found["entries"] == 80
    assert (found["begin_timestamp"], found["end_timestamp"]) == (T, T + 79_000)
    assert found["oddities"] == []


def test_a_file_with_too_few_entries_is_told_by_its_siblings(run: Run, store: Path) -> None:
    alone = put(store, "lone/20260101000000001", index_file(11, 100, []))
    assert run(alone, "--kind", "index").code == 2
    beside = put(store, "index/20260101000000001", index_file(11, 100, []))
    assert "geometry: 11 slots, 100 entries" in run(beside).out


def test_other_kinds(run: Run, store: Path) -> None:
    for name, kind, part in (
        (f"consumequeue/T/0/{FIRST}", "queue", "written_units"),
        (f"consumequeue_ext/T/0/{FIRST}", "ext", "used_bytes"),
        (f"commitlog/{FIRST}", "log", "records"),
        ("checkpoint", "checkpoint", "2023-11-14T22:13:20.000Z"),
    ):
        code, out, err = run(store / name)
        assert (code, err) == (0, "")
        assert part in out
        found = json.loads(run(store / name, "--json").out)
        assert (found["file"], found["kind"]) == (name.rsplit("/", maxsplit=1)[-1], kind)


def test_a_byte(run: Run, store: Path) -> None:
    offset = 40 + 4 * 11 + 20 * 3 + 5  # in entry 3's physical offset
    found = json.loads(run(store / "index" / INDEX, "--at", hex(offset), "--json").out)
    assert (found["structure"], found["number"], found["field"]) == ("index entry", 3, "phy_offset")
    assert (found["offset"], found["byte"], found["fields"][1]["value"]) == (offset, 0, 200)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_plot(run: Run, store: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"plot.{suffix}"
    assert f"plot: {target}" in run(store / "index" / INDEX, "--plot", target).out
    data = target.read_bytes()
    assert data.startswith(b"<?xml" if suffix == "svg" else b"\x89PNG")
    run(store / "index" / INDEX, "--plot", target)
    assert target.read_bytes() == data


def test_ticks_of_whole_numbers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One to ten chains, slots or entries have no tick at 2.5, which would read 2."""
    seen: list[float] = []

    def look(figure: Figure, *_args: object, **_options: object) -> None:
        chains, slots, times = figure.axes
        seen.extend([*chains.get_yticks(), *slots.get_xticks(), *times.get_xticks()])

    monkeypatch.setattr(Figure, "savefig", look)
    monkeypatch.setattr(Path, "replace", lambda *_: None)
    for count in range(1, 11):
        file = put(
            tmp_path,
            "store/index/1",
            index_file(count, 20, [Entry(key, 100 * key, 0) for key in range(count)]),
        )
        assert run(file, "--geometry", f"{count},20", "--plot", tmp_path / "p.svg").code == 0
    assert seen
    assert [tick for tick in seen if tick != round(tick)] == []


def test_a_plot_of_a_file_without_entries_and_of_wild_times(run: Run, tmp_path: Path) -> None:
    empty = put(tmp_path, "store/index/1", index_file(1, 2, []))
    assert run(empty, "--geometry", "1,2", "--plot", tmp_path / "empty.svg").code == 0
    wild = bytearray(index_file(1, 3, [Entry(1, 2, 0x7FFFFFFF)]))
    wild[:8] = (1 << 62).to_bytes(8, "big")
    path = put(tmp_path, "store/index/2", bytes(wild))
    assert run(path, "--geometry", "1,3", "--plot", tmp_path / "wild.svg").code == 0


def test_a_store_as_json(run: Run, mixed: Path) -> None:
    seen = json.loads(run(mixed, "--json").out)
    assert (seen["kind"], seen["clean"], seen["findings"]) == ("plain", True, [])
    assert seen["geometry"]["hash_slot_num"] == 61
    orders = [queue for queue in seen["queues"] if queue["topic"] == "Orders"]
    assert sum(queue["messages"] for queue in orders) == 85


# --- --space: expected values are sums over what the real broker's classes read from the store ---------------

LIVE = 65_536


@pytest.fixture
def aged(mixed: Path) -> Path:
    """A store of which the two oldest log files are deleted."""
    for name in ("00000000000000000000", "00000000000000032768"):
        (mixed / "commitlog" / name).unlink()
    os.utime(mixed / "commitlog" / f"{LIVE:020}", (1_700_000_000, 1_700_000_000))
    return mixed


def test_bytes_by_queue(run: Run, aged: Path) -> None:
    found = run(aged, "--space", "--json").rows[0]
    live: Counter[tuple[str, int]] = Counter()
    count: Counter[tuple[str, int]] = Counter()
    gone: Counter[tuple[str, int]] = Counter()
    for one in lines("mixed")["queue_unit"]:
        name = one["topic"], one["queue_id"]
        if one["phy_offset"] < LIVE:
            gone[name] += 1
        else:
            live[name] += one["size"]
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
    assert found["log_bytes"] == last["phy_offset"] + last["size"] - LIVE
    order = [queue["log_bytes"] for queue in found["queues"]]
    assert order == sorted(order, reverse=True)


def test_index_files_that_can_go(run: Run, aged: Path) -> None:
    headers = lines("mixed")["index_header"]
    gone = [header["file"] for header in headers if header["end_phy_offset"] < LIVE]
    assert 0 < len(gone) < len(headers)
    assert run(aged, "--space", "--json").rows[0]["spare_indexes"] == gone


def test_the_lines_fit_80_columns_but_for_the_last_three(run: Run, aged: Path) -> None:
    shown = run(aged, "--space").out.splitlines()
    assert max(map(len, shown[:-3])) <= 80
