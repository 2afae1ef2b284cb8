"""Every select, time match, header and query that Java recorded of the golden stores, answered again."""

import itertools
from collections.abc import Iterator
from dataclasses import asdict

import pytest
from golden_logs import Lines, commitlog, lines_of
from rocket_columnar.index import IndexFile
from rocket_columnar.query import OpenStore
from rocket_golden import open_store, stores


@pytest.fixture(scope="module", params=[*stores(log=None), *stores(unclean=True, log=None)])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def said(name: str) -> Lines:
    return lines_of(name)


@pytest.fixture(scope="module")
def store(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    root = open_store(name, tmp_path_factory.mktemp("golden"))
    with OpenStore(root, commitlog=commitlog(root)) as opened:
        yield opened


@pytest.fixture(scope="module")
def files(store: OpenStore) -> dict[str, IndexFile]:
    return dict(store.indexes.files)


def test_headers(files: dict[str, IndexFile], said: Lines) -> None:
    assert len(said["index_header"]) == len(files) > 0
    for line in said["index_header"]:
        index = files[line.pop("file")]
        geometry = (line.pop("hash_slot_num"), line.pop("index_num"))
        assert index.geometry == geometry
        assert index.full() == line.pop("full")
        header = asdict(index.header())
        assert header == {field: line[field] for field in header}


def test_selects(files: dict[str, IndexFile], said: Lines) -> None:
    assert said["select"]
    for line in said["select"]:
        index = files[line["file"]]
        found = index.select(line["key"], line["max_num"], line["begin"], line["end"])
        assert found == line["offsets"], line


def test_time_matches(files: dict[str, IndexFile], said: Lines) -> None:
    assert said["time_matched"]
    for line in said["time_matched"]:
        assert files[line["file"]].time_matched(line["begin"], line["end"]) == line["matched"], line


def test_queries(store: OpenStore, said: Lines) -> None:
    """As the bytes are: Java's loaded store leaves out what is not known to be committed (DLG-15)."""
    assert said["query"]
    uncommitted = store.store.name.endswith("dledger-group-killed")
    for line in said["query"]:
        asked = (line["topic"], line["key"])
        window = {field: line[field] for field in ("max_num", "begin", "end")}
        offsets = store.query_offset(*asked, **window)
        assert list(offsets.offsets) == line["offsets"], line
        assert offsets.last_update_timestamp == line["last_update_timestamp"]
        assert offsets.last_update_phy_offset == line["last_update_phy_offset"]
        answer = store.query(*asked, **window)
        assert list(answer.offsets) == line["offsets"]
        found = [row["phy_offset"] for row in answer.messages]
        if uncommitted:
            committed = said["dledger"][0]["committed_pos"] if line["messages"] else 0
            found = [offset for offset in found if offset < committed]
        assert found == line["messages"], line
        assert answer.last_update_timestamp == line["messages_last_update_timestamp"]
        assert answer.last_update_phy_offset == line["messages_last_update_phy_offset"]


def test_message_rows_are_the_records_that_java_decoded(store: OpenStore, said: Lines) -> None:
    for line in said["log_record"][:500]:
        row = store.log.row(line["phy_offset"])
        for field in ("topic", "queue_id", "queue_offset", "store_timestamp", "keys", "uniq_key", "file"):
            assert row[field] == line[field], (field, line)


def test_exact_queries_find_what_was_put_under_the_key(store: OpenStore, said: Lines) -> None:
    """Of what was put, the log must still hold the record: that of an expired store has lost some."""
    there = {line["phy_offset"] for line in said["log_record"]}
    wanted: dict[str, set[int]] = {}
    for line in said["index_entry"]:
        if line["phy_offset"] in there:
            wanted.setdefault(line["key"], set()).add(line["phy_offset"])
    assert wanted
    for name, offsets in itertools.islice(wanted.items(), 400):
        topic, key = name.split("#", 1)
        distinct = sorted(offsets)
        answer = store.query_exact(topic, key, max_num=64, begin=0, end=(1 << 63) - 1)
        assert [row["phy_offset"] for row in answer.messages] == distinct[-64:], name
        assert answer.truncated == (len(distinct) > 64)
        if key:
            every = store.query_all(topic, key)
            assert list(every.offsets) == distinct, name
