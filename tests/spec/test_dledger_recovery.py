"""What real recoveries of DLedger mode made of damaged stores (`real/dledger.json`), from what the variants are.

`real/dledger_variants.py` damages the golden store `dledger`: the eighth entry of the file before the last, or whole files.
"""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rocket_golden
from dledger_variants import FIELDS, HIT, SIZE, VARIANTS, entries
from rocket_reference import dispatch_request
from spec_blocks import code

ENTRIES = entries()
WHOLE_END = ENTRIES[-1]["pos"] + ENTRIES[-1]["size"]


Facts = dict[str, dict[str, Any]]


def test_every_variant_was_recovered(dledger: Facts) -> None:
    assert set(dledger) == set(VARIANTS)


def test_a_recovery_ends_at_a_damaged_header(dledger: Facts) -> None:
    """DLG-17: at the entry itself; a term that is too high is accepted, and the next entry is not."""
    for name in FIELDS:
        for change in ("+7", "-7"):
            found = dledger[name + change]
            kept = HIT["index"] if name + change == "term+7" else HIT["index"] - 1
            last = next(entry for entry in ENTRIES if entry["index"] == kept)
            assert found["loaded"]
            assert (found["end_index"], found["write_pos"]) == (kept, last["pos"] + last["size"])
    found = dledger["magic of a blank"]  # the rest of the file is skipped, and the next entry does not follow
    assert (found["end_index"], found["write_pos"]) == (
        HIT["index"] - 1,
        int(Path(found["log_files"][-1]).name),
    )
    for name in ("whole", "body of a record", "no index of entries"):
        assert (dledger[name]["end_index"], dledger[name]["write_pos"]) == (ENTRIES[-1]["index"], WHOLE_END)


def test_the_index_of_entries_decides_where_a_recovery_begins(dledger: Facts) -> None:
    """DLG-17, DLG-18: damage in the fifth file from the end is met only when the units of later first entries differ."""
    met = dledger["unit of the third file from the end, entry of the fifth"]
    assert met["exit"] == 255
    whole = {"end_index": ENTRIES[-1]["index"], "write_pos": WHOLE_END}
    for name in (
        "first entry of the first file",
        "unit of the third file from the end",
        "units of the third and the fourth file from the end",
        "units of all files' first entries",
        "unit of the hit entry",
        "index of entries with a second file",
        "index of entries that begins late",
        "index of entries, 0 in place of 000",
    ):
        assert dledger[name]["loaded"]
        assert {key: dledger[name][key] for key in whole} == whole, name


def test_what_comes_after_the_end(dledger: Facts) -> None:
    """DLG-18: the last file is gone, no queue points behind the end; a file that begins at the end stays."""
    found = dledger["magic+7"]
    assert len(found["log_files"]) == len(dledger["whole"]["log_files"]) - 1
    assert max(end for _, end in found["queues"].values()) <= found["write_pos"]
    assert len(found["queue_files"]) < len(dledger["whole"]["queue_files"])
    start = int(Path(dledger["whole"]["log_files"][-1]).name)
    for name in ("first entry of the last file", "the last file is missing"):
        assert dledger[name]["write_pos"] == start
        before = [entry for entry in ENTRIES if entry["pos"] < start]
        assert dledger[name]["end_index"] == before[-1]["index"]
        assert dledger[name]["committed_pos"] == before[-1]["pos"] + before[-1]["size"] < start
    assert dledger["first entry of the last file"]["log_files"] == dledger["whole"]["log_files"]


def test_what_keeps_dledger_from_starting(dledger: Facts) -> None:
    """DLG-19."""
    assert dledger["a file in the middle is missing"]["loaded"] is False
    for name in (
        "the last file is a byte short",
        "index of entries a byte short",
        "index of entries a byte long",
        "stray file in index",
        "stray file in data",
        "directory in data",
    ):
        assert dledger[name]["exit"] == 255, name
    for name in (
        "stray file of a file's length in data",
        "index of entries with a gap",
        "index of entries, 0 beside 000",
        "data file 0 beside 000",
        "committed index that is not a number",
    ):
        assert (dledger[name]["exit"], dledger[name]["loaded"]) == (0, False), name
    found = dledger["first entry of the third file from the end"]
    assert found["exit"] == 255
    starts = [int(Path(name).name) for name in found["log_files"]]
    assert all(after - before == SIZE for before, after in pairwise(starts))
    assert starts[-1] - starts[-3] > SIZE
    assert dledger["no data file"]["loaded"]
    assert dledger["no data file"]["queue_files"] == []


def test_queries_that_find_only_what_is_not_committed(dledger: Facts) -> None:
    """DLG-15: 13 messages have the key; six are committed. Each repeated query ends at its predecessor's lowest hit."""
    hits = [
        line["phy_offset"]
        for line in rocket_golden.truth("dledger")
        if line["type"] == "log_record" and "batch-0" in (line["keys"] or "").split()
    ]
    found = dledger["committed index 90"]
    committed = [offset for offset in hits if offset < found["committed_pos"]]
    assert (len(hits), len(committed)) == (13, 6)
    assert (
        {int(most): offsets for most, offsets in found["batch-0"].items()}
        == {
            1: [],
            2: [],
            4: committed[-3:],  # the third query: hits 3 to 6, the last of which is not committed
            8: committed[-1:],  # the first query: hits 6 to 13
        }
    )
    assert dledger["whole"]["batch-0"]["4"] == hits[-4:]


def test_without_dledgers_checkpoint(dledger: Facts) -> None:
    """DLG-20."""
    found = dledger["no checkpoint of DLedger"]
    assert (found["committed_pos"], found["min_offset"], found["max_offset"]) == (-1, 0, 0)
    assert found["end_index"] == ENTRIES[-1]["index"]
    assert dledger["whole"]["max_offset"] == dledger["whole"]["committed_pos"] == WHOLE_END
    for name in ("committed index -1", "number 2^40 of the first entry of the first file"):
        assert (dledger[name]["loaded"], dledger[name]["committed_pos"]) == (True, -1), name
        assert dledger[name]["end_index"] == ENTRIES[-1]["index"]
    assert dledger["committed index beyond the end"]["committed_pos"] == WHOLE_END


class Entries:
    """Part of a data file as the dispatch block of SPEC.md sees it (DLG-9); after a failure with a size the next entry follows."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.position = 0

    def next_request(self, *, check_crc: bool, read_body: bool) -> SimpleNamespace:
        header = self.data[self.position : self.position + 48]
        if header[:4] == b"\xff" * 4:  # a blank
            return SimpleNamespace(success=True, size=0)
        if len(header) < 48:
            return SimpleNamespace(success=False, size=-1)
        request = dispatch_request(self.data, self.position + 48, check_crc=check_crc, read_body=read_body)
        self.position += 48 + int.from_bytes(header[44:])
        return SimpleNamespace(success=request.success, size=request.msg_size, whole=request)


@pytest.mark.parametrize(("more", "headers"), [(0, True), (48, True), (48, False), (5000, True)])
def test_the_page_dispatches_entries(more: int, headers: bool, dledger: Facts, tmp_path: Path) -> None:  # noqa: FBT001
    """LOG-DSP-10, DLG-9: as the real store, from the log's start; a page that forgets the headers of entries does not."""
    variant = f"no queues, total size of a record +{more}" if more else "no queues"
    store = rocket_golden.open_store("dledger", tmp_path)
    VARIANTS[variant](store)
    data = b"".join(path.read_bytes() for path in sorted(store.glob("dledger-n0/data/*")))[:WHOLE_END]
    requests: list[Any] = []
    page = SimpleNamespace(
        position=0,
        dledger=True,
        is_master=False,
        duplication_enable=False,
        dispatchers=[lambda request: requests.append(request.whole)],
        log=SimpleNamespace(
            first_file=lambda: SimpleNamespace(start=0),
            end=lambda: WHOLE_END,
            written_part_of_file=lambda at: Entries(data[at : at - at % SIZE + SIZE]),
            start_of_next_file=lambda at: at - at % SIZE + SIZE,
        ),
    )
    changes = {} if headers else {"size += 48": "size += 0"}
    code("Dispatch, step by step", changes=changes)["dispatch"](page)
    units = Counter(f"{one.topic}/{one.queue_id}" for one in requests if one.sys_flag & 12 in {0, 8})
    found = dledger[variant]
    assert ((page.position, dict(units)) == (found["dispatched_to"], found["dispatched"])) == headers
