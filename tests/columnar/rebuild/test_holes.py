"""Logical offsets after a hole in the log: units keep the places that their records state, or the queue is left out."""

from pathlib import Path

import pytest
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from store_bytes import unit

BLANK = unit(0, 0x7FFFFFFF)


def units(store: Path) -> dict[tuple[str, int], bytes]:
    """The units of a store by queue and logical offset; places that nothing was put in are left out."""
    found: dict[tuple[str, int], bytes] = {}
    for path in sorted((store / "consumequeue").glob("*/*/*")):
        data = path.read_bytes()
        for at in range(0, len(data), 20):
            if any(data[at : at + 20]):
                number = (int(path.name) + at) // 20
                found["/".join(path.parts[-3:-1]), number] = data[at : at + 20]
    return found


def ends(held: dict[tuple[str, int], bytes]) -> dict[str, int]:
    """The last logical offset of each queue."""
    return {queue: place for (queue, place), _ in sorted(held.items(), key=lambda one: one[0][1])}


def lose(store: Path, how: str) -> range:
    """Damages the log, after its first file if it has several; the physical offsets that are lost."""
    logs = sorted((store / "commitlog").iterdir())
    path = logs[1] if len(logs) > 2 else logs[0]
    data, base = path.read_bytes(), int(path.name)
    if how == "missing file":
        path.unlink()
        return range(base, base + len(data))
    records = sorted(int.from_bytes(held[:8]) - base for held in units(store).values() if held != BLANK)
    begin = next(at for at in records if at >= len(data) // 2)
    end = next(at for at in records if at >= 3 * len(data) // 4) if how == "damage" else len(data)
    path.write_bytes(data[:begin] + bytes(end - begin) + data[end:])
    if how == "cut file":
        path.write_bytes(data[:begin])
    return range(base + begin, base + end)


@pytest.mark.parametrize("how", ["missing file", "damage", "zeros to the file's end", "cut file"])
@pytest.mark.parametrize("name", ["killed-restarted", "lmq", "mixed", "small-roll", "transactions"])
def test_units_after_a_hole_keep_their_places(name: str, how: str, tmp_path: Path) -> None:
    store = open_store(name, tmp_path / "golden")
    healthy = units(store)
    lost = lose(store, how)
    findings = rebuild(store, tmp_path / "out").findings
    left_out = {found.file.partition("/")[2] for found in findings if found.code == "queue.order"}
    assert left_out <= {"Mirror/1"}  # a broker wrote it with units above and below what their records state
    made = units(tmp_path / "out")
    pointers = {
        place: range(offset := int.from_bytes(data[:8]), offset + int.from_bytes(data[8:12]))
        for place, data in healthy.items()
    }
    gone = {place for place, at in pointers.items() if max(at.start, lost.start) < min(at.stop, lost.stop)}
    assert gone
    assert ends(made).items() >= {q: end for q, end in ends(healthy).items() if q not in left_out}.items()
    assert {place: data for place, data in made.items() if place in gone} == {
        place: data for place, data in healthy.items() if place in gone and place in made
    }
    kept = {
        place: data
        for place, data in healthy.items()
        if place not in gone and data != BLANK and place[0] not in left_out
    }
    assert {place: data for place, data in made.items() if data != BLANK and place not in gone} == kept


def test_only_missing_leaves_the_units_of_lost_records_out_of_no_place(tmp_path: Path) -> None:
    """Copying the output over a store with a hole renumbers none of its units."""
    store = open_store("mixed", tmp_path / "golden")
    healthy = units(store)
    lose(store, "missing file")
    rebuild(store, tmp_path / "out", only_missing=True)
    for place, data in units(tmp_path / "out").items():
        assert data in (healthy[place], BLANK)
