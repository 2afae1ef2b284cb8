"""What real recoveries of DLedger mode made of damaged stores (`real/dledger.json`), from what the variants are.

`real/dledger_variants.py` damages the golden store `dledger`: the eighth entry of the file before the last, or whole files.
"""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rocket_golden
from dledger_variants import SIZE, VARIANTS, entries
from rocket_reference import dispatch_request
from spec_blocks import code

ENTRIES = entries()
WHOLE_END = ENTRIES[-1]["pos"] + ENTRIES[-1]["size"]


Facts = dict[str, dict[str, Any]]


def test_every_variant_was_recovered(dledger: Facts) -> None:
    assert set(dledger) == set(VARIANTS)


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
def test_the_page_dispatches_entries(more: int, headers: bool, dledger: Facts, tmp_path: Path) -> None:
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
