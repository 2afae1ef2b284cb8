"""Every verb of the engine on stores of DLedger mode, against what Java said of them and the files that brokers wrote."""

import json
import shutil
from pathlib import Path

import pytest
from dledger_variants import HIT, VARIANTS
from golden_logs import Lines, lines_of
from rocket_columnar.audit import audit
from rocket_columnar.describe import byte_at, digest, store_digest, summarise
from rocket_columnar.facts import Store
from rocket_columnar.restart import restart
from rocket_columnar.store import find_files, read_broker_conf
from rocket_golden import open_store, stores, truth
from rocket_spec.errors import UsageError
from store_bytes import put
from table_rows import decoded, rows_of

NAMES = (*stores(log="dledger"), *stores(log="dledger", unclean=True), *stores(log="upgraded"))
LONG = (1 << 63) - 1


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dledger")
    for name in NAMES:
        open_store(name, folder)
    return folder


@pytest.fixture(scope="module", params=NAMES)
def store(request: pytest.FixtureRequest, root: Path) -> Path:
    return root / str(request.param)


@pytest.fixture(scope="module")
def said(store: Path) -> Lines:
    return lines_of(store.name)


@pytest.mark.parametrize("at", [0, 1, 47, 48, 300, 5000])
def test_ranges_of_the_log_are_the_whole(store: Path, said: Lines, at: int) -> None:
    """Each record is in one of two ranges, wherever they meet: in a header, a record, a blank."""
    files = [file for file in find_files(store) if file.kind == "log"]
    cut = files[0].base_offset + at
    offsets = [
        row["phy_offset"]
        for part in ((0, cut), (cut, LONG))
        for row in rows_of(files, columns=["phy_offset"], log_range=part)
    ]
    assert offsets == [line["phy_offset"] for line in said["log_record"]]


def test_restart(store: Path, said: Lines) -> None:
    plan = restart(store)
    assert plan.refused is None
    assert plan.log_end == said["dledger"][0]["write_pos"]
    assert plan.dispatch_from == max(queue["max_physic_offset"] for queue in said["queue"])
    rejoined = list(truth("dledger-group-rejoined"))  # what the start of the killed member left
    kept = [line for line in rejoined if line["type"] == "index_entry"]
    written = [
        key
        for line in rejoined
        if line["type"] == "log_record"
        for key in [line["uniq_key"], *(line["keys"] or "").split()]
    ]
    lost = {
        "dledger-group-killed": len(written) - len(kept),
        "dledger-group-rejoined": len(written) - len(kept),
    }
    assert len(plan.lost) == lost.get(store.name, 0)
    assert [deletion.file for deletion in plan.deletions] == [
        line["file"]
        for line in rejoined
        if line["type"] == "deleted" and store.name == "dledger-group-killed"
    ]


def test_digests_of_members_agree(root: Path) -> None:
    """The queues and records of two members; their index files differ where one lost some."""
    ours, theirs = (
        {part.logical_name: part.digest for part in digest(root / name) if part.kind != "index"}
        for name in ("dledger-group", "dledger-group-rejoined")
    )
    assert len(ours) > 10
    assert {name: value for name, value in ours.items() if name} == {
        name: value for name, value in theirs.items() if name
    }
    assert store_digest(list(digest(root / "dledger"))) != store_digest(list(digest(root / "dledger-group")))


def test_one_file(root: Path) -> None:
    path = root / "dledger/dledger-n0/data/00000000000000008192"
    (file,) = find_files(path)
    assert (file.kind, file.base_offset) == ("log", 8192)
    facts = summarise(file)
    assert facts["gaps"] == []
    assert facts["blank_bytes"] == facts["left_bytes"] > 0
    header, record, blank = (byte_at(file, at) for at in (0, 48, 8190))
    assert [meaning.structure for meaning in (header, record, blank)] == [
        "DLedger entry",
        "commit-log record",
        "DLedger blank",
    ]
    assert [field.name for field in header.fields][:5] == ["magic", "size", "index", "term", "pos"]
    assert header.fields[4].value == 8192


def test_a_file_of_another_name_is_known_by_its_bytes(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.bin"
    path.write_bytes((root / "dledger/dledger-n0/data/00000000000000008192").read_bytes())
    (file,) = find_files(path)
    assert (file.kind, file.base_offset) == ("log", 8192)


@pytest.mark.parametrize("part", ["dledger-n0", "dledger-n0/data"])
def test_a_members_directory_is_its_log(root: Path, part: str) -> None:
    assert {file.kind for file in find_files(root / "dledger" / part)} == {"log"}
    assert find_files(root / "dledger" / part)[0].name == "dledger-n0/data/00000000000000000000"


@pytest.mark.parametrize(
    "part", ["dledger-n0/index", "dledger-n0/index/00000000000000000000", "dledger-n0/checkpoint"]
)
def test_dledgers_own_files_are_refused(root: Path, part: str) -> None:
    with pytest.raises(UsageError, match="belongs to DLedger itself"):
        find_files(root / "dledger" / part)


@pytest.mark.parametrize("below", ["dledger-cluster/store", "dledger-cluster", "dledger-cluster/data"])
@pytest.mark.parametrize("name", ["dledger", "small-roll"])
def test_a_store_in_a_directory_that_is_named_as_a_members(below: str, name: str, tmp_path: Path) -> None:
    """`/data/dledger-cluster/store`: the name of a directory above a store, or its own, makes no difference."""
    store = open_store(name, tmp_path / "unpacked")
    other = tmp_path / below
    other.parent.mkdir(exist_ok=True)
    store.rename(other)
    assert not [found for found in audit(other) if found.severity != "note"]
    assert restart(other).refused is None
    assert {file.kind for file in find_files(other)} == {"index", "queue", "log", "checkpoint"}
    assert {file.kind for file in find_files(other / "index")} == {"index"}


def test_logs_of_two_members_in_one_store_are_refused(root: Path, tmp_path: Path) -> None:
    for member in ("dledger-n0", "dledger-n1"):
        shutil.copytree(root / "dledger/dledger-n0/data", tmp_path / member / "data")
    with pytest.raises(UsageError, match="several DLedger members: dledger-n0, dledger-n1"):
        find_files(tmp_path)


def test_a_folder_of_the_mode_beside_a_plain_log_is_left_out_where_the_mode_is_off(tmp_path: Path) -> None:
    store = open_store("mixed", tmp_path)
    member = open_store("dledger", tmp_path) / "dledger-n0"
    plain = {file.name for file in find_files(store)}
    shutil.copytree(member / "data", store / "dledger-n0" / "data")
    with pytest.raises(UsageError, match=r"two commit-log files of one name.*--broker-conf"):
        list(audit(store))
    conf = read_broker_conf(put(tmp_path, "broker.conf", b"enableDLegerCommitLog=false\n"))
    (note,) = audit(store, conf=conf)
    assert (note.code, note.file, note.severity) == ("log.gap", "dledger-n0/data", "note")
    assert {file.name for file in Store(store, conf=conf).listed} >= plain


@pytest.mark.parametrize(
    ("field", "code", "place"),
    [
        ("magic+7", "log.magic", 0),
        ("size+7", "log.length", 4),
        ("pos+7", "log.position", 24),
        ("body_size+7", "log.length", 4),
        ("an entry that is only a header", "log.length", 44),
    ],
)
def test_a_damaged_header_is_named_and_placed(
    root: Path, tmp_path: Path, field: str, code: str, place: int
) -> None:
    store, position = tmp_path / "store", HIT["pos"]
    VARIANTS[field](Path(shutil.copytree(root / "dledger", store)))
    (found,) = audit(store, "deep")
    assert (found.code, found.clause) == (code, "DLG-2")
    assert found.offset == position % 8192 + place
    assert "a recovery cuts the log here" in found.message
    rows, gaps = decoded(store, tables=["commit_log"])
    assert len(rows) == 217
    assert [(gap.begin, gap.end) for gap in gaps] == [(position, position + 48)]


REAL = Path(__file__).parents[1] / "spec" / "real"


@pytest.mark.parametrize("name", VARIANTS)
def test_a_start_is_foretold_as_the_real_one_went(tmp_path: Path, name: str) -> None:
    """Of each damaged store what the real recovery made of it (`real/dledger.json`)."""
    after = json.loads((REAL / "dledger.json").read_text("utf-8"))[name]
    store = open_store("dledger", tmp_path)
    VARIANTS[name](store)
    before = {path.relative_to(store).as_posix() for path in store.rglob("0*") if path.is_file()}
    loads = after["exit"] == 0 and after.get("loaded", False)
    if name == "data file 0 beside 000":  # refused before anything is foretold
        with pytest.raises(UsageError, match="two commit-log files of one name"):
            restart(store)
        assert not loads
        return
    plan = restart(store)
    assert (plan.refused is None) == loads
    if plan.refused is not None:
        return
    assert plan.log_end == after["write_pos"]
    gone = {name for name in before if name.startswith(("dledger-n0/data/", "consumequeue/"))}
    gone -= {*after["log_files"], *after["queue_files"]}
    assert {deletion.file for deletion in plan.deletions if deletion.action == "delete"} == gone
    if name.endswith(("+7", "-7")):  # also if number or term do not follow on the entry before
        of_log = [one.action for one in plan.deletions if one.file.startswith("dledger-")]
        assert of_log == ["truncate", "delete"]
