"""`repair` prints what it would do, does it, and takes it back."""

from pathlib import Path

import pytest
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from rocket_spec.layout import Geometry
from store_bytes import put, record
from verb_run import Run

VERB = "repair"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = open_store("mixed", tmp_path)
    (store / f"consumequeue/Orders/0/{0:020}").write_bytes(b"")
    return store


def test_a_plan_is_printed_done_and_undone(run: Run, store: Path) -> None:
    plan = run(store, "--plan")
    assert plan.code == 1
    assert plan.out.startswith(f"replace consumequeue/Orders/0/{0:020}\nnow: ")
    assert "now: no broker starts; an audit has" in plan.out
    assert plan.last == f"to repair: rocketspec repair {store} --apply"
    done = run(store, "--apply")
    assert done.code == 0
    assert "after: a start keeps 394 messages; an audit has 0 errors and warnings" in done.out
    assert done.last == f"to undo this: rocketspec repair {store} --undo"
    assert run(store, "--plan").last == "there is nothing to repair"
    assert run(store, "--undo").code == 0
    assert (store / f"consumequeue/Orders/0/{0:020}").read_bytes() == b""
    assert run(store, "--undo").code == 2


def test_a_store_of_4_8_0_is_repaired_by_its_rules(run: Run, tmp_path: Path) -> None:
    """LOG-PROP-3: a key with a second separator is none there, so that its index needs no repair."""
    store, data = tmp_path / "store", record(0, properties=b"KEYS\1a\1b")
    put(store, f"commitlog/{0:020}", (data + record(len(data), queue_offset=1)).ljust(4096, b"\0"))
    rebuild(store, tmp_path / "new", geometry=Geometry(7, 20), queue_file_size=200, release="4.8.0")
    for part in ("index", "consumequeue"):
        (tmp_path / "new" / part).rename(store / part)
    options = "--plan", "--geometry", "7,20"
    assert run(store, *options, "--rocketmq-profile", "4.8.0").last == "there is nothing to repair"
    assert "replace index/" in run(store, *options).out
