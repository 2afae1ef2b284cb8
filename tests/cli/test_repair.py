"""`repair` prints what it would do, does it, and takes it back."""

from pathlib import Path

import pytest
from rocket_golden import open_store
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
    assert "replace the consume-queue files that differ from the log" in plan.out
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


@pytest.mark.parametrize("options", [(), ("--plan", "--apply")])
def test_one_of_three_is_required(run: Run, store: Path, options: tuple[str, ...]) -> None:
    done = run(store, *options)
    assert (done.code, done.out) == (2, "")
    assert "give one of --plan, --apply and --undo" in done.err
