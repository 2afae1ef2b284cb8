"""Where index files begin and end, and what no rebuild is made of."""

import struct
from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.facts import Store
from rocket_columnar.rebuild import IndexPlan, name_indexes, plan_rebuild, rebuild
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, put, record


def log_files(root: Path, keys: list[list[int]], last: int = 0) -> Path:
    """A log of small files; each inner list gives the numbers of keys of one file's records."""
    size, logical = 4096, 0
    for number, counts in enumerate(keys):
        data = b""
        for count in counts:
            names = b" ".join(b"k%d" % part for part in range(count))
            data += record(
                number * size + len(data),
                queue_offset=logical,
                properties=b"KEYS\1" + names if count else b"",
                store_timestamp=BEGIN + 1000 * logical,
            )
            logical += 1
        if number < len(keys) - 1:
            data += struct.pack(">ii", size - len(data), -875286124)
        put(root, f"commitlog/{number * size:020}", data.ljust(size, b"\0"))
    return root


@pytest.mark.parametrize(
    ("keys", "files"),
    [
        pytest.param([[1, 1, 1], [0, 1]], 2, id="keyless record in the next file rolls"),
        pytest.param([[1, 1, 1, 0], [1]], 2, id="keyless record at the end of the file rolls"),
        pytest.param([[1, 1, 1]], 1, id="full, and nothing behind"),
        pytest.param([[1, 1, 1, 0, 0]], 2, id="full, and a keyless record behind"),
        pytest.param([[2, 2, 2], [2, 2]], 4, id="a roll within a record"),
        pytest.param([[0], [0]], 1, id="no keys at all"),
        pytest.param([[0], [7], [0, 0]], 3, id="one record over three files"),
        pytest.param([[1, 1, 1], [], [0]], 2, id="an empty file between"),
    ],
)
def test_boundaries_of_index_files(keys: list[list[int]], files: int, tmp_path: Path) -> None:
    """Files of four take three entries: IDX-PUT-1, IDX-SVC-3."""
    store, out = log_files(tmp_path / "store", keys), tmp_path / "out"
    assert (
        sum(name.startswith("index/") for name in rebuild(store, out, geometry=Geometry(4, 4)).files) == files
    )
    for part in ("index", "consumequeue"):
        (out / part).rename(store / part)
    assert {finding.severity for finding in audit(store)} <= {"note"}


def test_what_no_rebuild_is_made_of(tmp_path: Path) -> None:
    put(tmp_path, "checkpoint", bytes(4096))
    with pytest.raises(UsageError, match="contains no commit log"):
        plan_rebuild(Store(tmp_path))
    log_files(tmp_path, [[1]])
    with pytest.raises(UsageError, match="no room for entries"):
        plan_rebuild(Store(tmp_path, geometry=Geometry(4, 1)))
    with pytest.raises(UsageError, match="a consume-queue file of 0 bytes"):
        plan_rebuild(Store(tmp_path, geometry=Geometry(4, 4)), 0)


def test_a_file_is_named_no_later_than_those_after_it() -> None:
    """The clock was an hour ahead while the record behind the first file was stored."""
    plans, hour = [IndexPlan(0, 1), IndexPlan(1, 2), IndexPlan(2, 3)], 3_600_000
    ahead, right = (name_indexes((), (), plans, times) for times in ([hour, 5, 9], [5, 5, 9]))
    assert ahead == right == sorted(set(right))
