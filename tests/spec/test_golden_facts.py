"""Clauses that span several files, shown on what the real broker wrote: names, rolls, positions, keys."""

import base64
import itertools
import re
from collections import defaultdict
from pathlib import Path

import pytest
import rocket_golden
from golden_truth import lines
from rocket_reference import java


@pytest.fixture(params=rocket_golden.stores())
def store(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_ext_files(tmp_path: Path) -> None:
    """CQ-EXT-4: place, name and length, which is no number of whole units of anything."""
    root = rocket_golden.open_store("ext", tmp_path / "ext")
    files = sorted(path.relative_to(root).parts for path in root.glob("consumequeue_ext/*/*/*"))
    assert files
    named = [tuple(line["file"].split("/")) for line in lines("ext")["ext_file"]]
    assert files == sorted(named)
    by_queue: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for parts in files:
        assert re.fullmatch(r"\d{20}", parts[-1])
        by_queue[parts[:-1]].append(int(parts[-1]))
    sizes = {(root / Path(*parts)).stat().st_size for parts in files}
    assert len(sizes) == 1
    (size,) = sizes
    assert all(offsets == [i * size for i in range(len(offsets))] for offsets in by_queue.values())


def test_log_files(store: str) -> None:
    """LOG-FILE-1, LOG-FILE-2, LOG-REC-7: files adjoin, records fill them to the blank or the zeros, each at its place."""
    files = lines(store)["log_file"]
    assert [line["file"] for line in files] == [f"commitlog/{line['base_offset']:020}" for line in files]
    for before, after in itertools.pairwise(files):
        assert after["base_offset"] == before["base_offset"] + before["size"]
    for line in files:
        position = line["base_offset"]
        for record in (r for r in lines(store)["log_record"] if r["file"] == line["file"]):
            assert record["phy_offset"] == position
            position += record["size"]
        assert position <= line["base_offset"] + line["size"] - 8
    assert [line["ends_in"] for line in files] == ["blank"] * (len(files) - 1) + ["zeros"]


def test_batches_are_records_of_one_store_time() -> None:
    """LOG-REC-8: records side by side in one queue, with consecutive queue offsets and one store timestamp."""
    records = lines("mixed")["log_record"]
    pairs = [
        (a, b)
        for a, b in itertools.pairwise(records)
        if (a["topic"], a["queue_id"], a["store_timestamp"], a["born_timestamp"], a["file"])
        == (b["topic"], b["queue_id"], b["store_timestamp"], b["born_timestamp"], b["file"])
        and b["queue_offset"] == a["queue_offset"] + 1
        and b["phy_offset"] == a["phy_offset"] + a["size"]
    ]
    assert len(pairs) >= 4


# --- bit maps -----------------------------------------------------------------------------------------

_U64 = (1 << 64) - 1


def _mixed(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _U64
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _U64
    return value ^ value >> 33


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _U64


def murmur3(data: bytes) -> int:
    """The lower half of MurmurHash3_x64_128 with seed 0, as its author's reference implementation defines it."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    assert len(data) < 16  # less than a block: a tail alone
    h2 = _rotated(int.from_bytes(data[8:], "little") * c2 & _U64, 33) * c1 & _U64
    h1 = _rotated(int.from_bytes(data[:8], "little") * c1 & _U64, 31) * c2 & _U64
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = h1 + h2 & _U64
    h2 = h2 + h1 & _U64
    return _mixed(h1) + _mixed(h2) & _U64


def bit_positions(group: str, topic: str, hashes: int, bits: int) -> set[int]:
    """CQ-EXT-10: where a subscription sets bits."""
    code = murmur3(f"{group}#{topic}".encode())
    found: set[int] = set()
    for number in range(1, hashes + 1):
        low, high = java.to_i32(code), java.to_i32(code >> 32)
        combined = java.to_i32(low + java.to_i32(number * high))
        found.add((combined if combined >= 0 else ~combined) % bits)
    return found


def test_bit_maps() -> None:
    """CQ-EXT-10, LOG-DSP-17: an error rate of 20 % and 32 consumers ask for 3 hashes and 112 bits.

    log2(1 / 0.2) = 2.32; 32 * 2.32 / ln 2 = 107.2, so 108, and 112 in whole bytes.
    """
    seen: dict[str, int] = dict.fromkeys(("sql-a", "sql-b", "sql-c", "none"), 0)
    bodies = {line["phy_offset"]: base64.b64decode(line["body"]) for line in lines("ext")["log_record"]}
    in_files = {
        (u["topic"], u["queue_id"], u["logical_offset"]): u["bit_map"] for u in lines("ext")["ext_unit"]
    }
    joined = False  # sql-c does before message 40; the delayed message 20 comes after it
    for request in lines("ext")["dispatch"]:
        place = request["topic"], request["queue_id"], request["consume_queue_offset"]
        assert in_files[place] == request["bit_map"]
        if request["topic"] != "Filtered":
            assert request["bit_map"] is None
            continue
        properties = request["properties"]
        joined = joined or int(bodies[request["commit_log_offset"]].split()[1]) >= 40
        matching = {
            "sql-a": int(properties["a"]) > 5,
            "sql-b": properties["b"] == "x" and 2 <= int(properties["a"]) <= 8,
            "sql-c": joined and (properties.get("TAGS") == "TagA" or "c" in properties),
        }
        expected = set().union(
            *(bit_positions(group, "Filtered", 3, 112) for group, match in matching.items() if match)
        )
        bit_map = base64.b64decode(request["bit_map"])
        assert len(bit_map) == 112 // 8
        assert {bit for bit in range(112) if bit_map[bit // 8] >> bit % 8 & 1} == expected
        for group, match in matching.items():
            seen[group] += match
        seen["none"] += not any(matching.values())
    assert min(seen.values()) > 2
