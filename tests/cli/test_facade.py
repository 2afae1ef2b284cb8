"""The functions of the package `rocketspec`: lazy, and each the engine's own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rocket_golden
import rocketspec
from rocket_spec.errors import UsageError


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rocket_golden.open_store("mixed", tmp_path_factory.mktemp("golden"))


def test_its_names_are_those_of_the_design() -> None:
    assert {"audit", "conform", "decode", "open_store", "query", "rebuild"} <= set(rocketspec.__all__)
    for name in rocketspec.__all__:
        assert getattr(rocketspec, name) is not None
    assert set(rocketspec.__all__) <= set(dir(rocketspec))
    with pytest.raises(AttributeError, match="no attribute 'decoed'"):
        rocketspec.decoed  # type: ignore[attr-defined]  # noqa: B018


def test_importing_it_loads_nothing_else() -> None:
    code = "import rocketspec, sys, json; json.dump(sorted(sys.modules), sys.stdout)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & {"numpy", "pyarrow", "numba", "typer", "rocket_columnar", "rocket_conformance"}


def test_a_store_is_audited_decoded_and_rebuilt(store: Path, tmp_path: Path) -> None:
    assert list(rocketspec.audit(store)) == []
    assert list(rocketspec.audit(store, "deep")) == []
    done = rocketspec.rebuild(store, tmp_path / "rebuilt")
    rows = sum(batch.num_rows for _, batch in rocketspec.decode(store, tables=["index_entries"]))
    assert rows == sum(line["type"] == "index_entry" for line in rocket_golden.truth("mixed"))
    kinds = {file.kind for file in rocketspec.open_store(tmp_path / "rebuilt")}
    assert kinds == {"index", "queue"}
    assert done.records == sum(line["type"] == "dispatch" for line in rocket_golden.truth("mixed"))
    assert rocketspec.rebuild(store, tmp_path / "nothing", only_missing=True).files == ()


def test_conform_runs_the_suite() -> None:
    assert rocketspec.conform(select=["IDX-HASH-*"], examples=1).exit_code == 0


def test_a_table_as_one_call(store: Path) -> None:
    orders = rocketspec.read_table("commit_log", store, topic="Orders", columns=["topic", "store_timestamp"])
    stored = [
        line["store_timestamp"]
        for line in rocket_golden.truth("mixed")
        if line["type"] == "log_record" and line["topic"] == "Orders"
    ]
    assert orders.column("store_timestamp").to_pylist() == stored
    assert set(orders.column("topic").to_pylist()) == {"Orders"}
    utc = rocketspec.read_table("commit_log", store, topic=["Orders"], timestamps="utc")
    (first,) = utc.slice(0, 1).column("store_timestamp").to_pylist()
    assert first is not None
    assert round(first.timestamp() * 1000) == stored[0]
    assert rocketspec.read_table("commit_log", store, begin=stored[1], end=stored[1]).num_rows >= 1
    assert rocketspec.read_table("checkpoint", store).num_rows == 1
    with pytest.raises(UsageError, match="unknown table 'commitlog'"):
        rocketspec.read_table("commitlog", store)


def test_messages_by_any_key_or_id(store: Path) -> None:
    every = rocketspec.find(store, topic="BBTopic", key="oneway-0")
    assert len(every.messages) == 3
    assert rocketspec.find(store, topic="BBTopic", key="oneway-0", scan=True).messages == every.messages
    row = every.messages[0]
    by_id = rocketspec.find(store, unique_key=row["uniq_key"])
    assert row["phy_offset"] in {message["phy_offset"] for message in by_id.messages}
    (only,) = rocketspec.find(store, offset_id="7F0000010000B3050000000000017D68").messages
    assert only["phy_offset"] == 97_640
    walk = rocketspec.explain(store, "BBTopic", "oneway-0", end=1)
    assert walk.found == 0
    assert walk.reasons
    with pytest.raises(UsageError):
        rocketspec.find(store, key="oneway-0")


def test_the_query_in_docs_query_md(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(store.parent)
    page = (Path(__file__).parents[2] / "docs" / "query.md").read_text("utf-8")
    (call,) = re.findall(r"`(rocketspec\.query\(.*?\))`", page)
    assert len(eval(call, {"rocketspec": rocketspec}).messages) == 3  # noqa: S307 - the page's own line


def test_descriptions_of_a_store(store: Path, tmp_path: Path) -> None:
    assert rocketspec.inspect(store).clean
    assert len(list(rocketspec.digest(store))) == len(rocketspec.open_store(store))
    index = sorted((store / "index").iterdir())
    assert list(rocketspec.diff(index[0], index[0])) == []
    assert rocketspec.restart(store).clean
