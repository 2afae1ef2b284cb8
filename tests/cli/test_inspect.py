"""The verb `inspect`: ticks of plots; bytes by queue are sums over what the real broker's classes read from the store."""

import os
from collections import Counter
from pathlib import Path

import pytest
from golden_truth import lines
from store_bytes import Entry, index_file, put
from verb_run import Run

VERB = "inspect"


def test_ticks_of_whole_numbers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One to ten chains, slots or entries have no tick at 2.5, which would read 2."""
    seen: list[float] = []

    from matplotlib.figure import Figure

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


def test_chains_of_ten_entries_have_a_line_of_their_own(run: Run, tmp_path: Path) -> None:
    """Ten keys whose hashes end in slot 0 of 4, and eleven in slot 1: longer ones share a line for each doubling."""
    entries = [Entry(4 * number + (number > 9), 100 * number, 0) for number in range(21)]
    file = put(tmp_path, "store/index/1", index_file(4, 40, entries))
    bar = 40 * "#"
    assert f"         10  1  {bar}\n      11-16  1  {bar}\n" in run(file, "--geometry", "4,40").out


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
