"""The golden data itself: as recorded, tampering noticed, small, complete, and safe to unpack."""

import hashlib
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from golden_truth import lines
from jsonschema import Draft202012Validator
from rocket_golden import UnknownStoreError, manifest, open_store, stores, verify, zstd

PACKAGE = Path(rocket_golden.__file__).parent
README = Path(__file__).parents[2] / "golden" / "README.md"
LIMIT = 6 << 20


def schema(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((PACKAGE / name).read_text("utf-8"))
    return data


def test_all_is_as_recorded() -> None:
    assert verify() == []


def test_manifest_keeps_to_its_schema() -> None:
    Draft202012Validator(schema("manifest.schema.json")).validate(schema("manifest.json"))


def test_stores_are_there_and_small() -> None:
    assert {"mixed", "default-geometry", "ext", "small-roll"} <= set(stores())
    found = manifest().stores.values()
    assert sum(store.archive.size + store.truth.size for store in found) < LIMIT


def test_producer_is_the_real_broker(store_name: str) -> None:
    store = manifest().stores[store_name]
    jars = manifest().producers[store.producer].jars
    for part in ("broker", "namesrv", "client", "store", "tools"):
        assert f"rocketmq-{part}-4.9.3.jar" in jars


def test_truth_keeps_to_its_schema(store_name: str) -> None:
    defs = schema("truth.schema.json")["$defs"]
    for kind, found in lines(store_name).items():
        validator = Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": defs})
        fields = set(defs[kind]["required"])
        assert all(set(line) == fields for line in found)
        for line in found[:: max(1, len(found) // 200)]:
            validator.validate(line)


@pytest.mark.skipif(not README.exists(), reason="an installed package has no golden/README.md")
def test_readme_lists_every_field_of_every_line() -> None:
    listed = {
        part.split("\n", 1)[0]: re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
        for part in README.read_text("utf-8").split("\n### ")[1:]
    }
    defs = schema("truth.schema.json")["$defs"]
    assert listed == {
        kind: [name for name in rule["properties"] if name != "type"]
        for kind, rule in defs.items()
        if "properties" in rule
    }


def test_truth_covers_every_file(store_name: str) -> None:
    files = {file.file for file in manifest().stores[store_name].files if file.kind != "other"}
    told = {line["file"] for found in lines(store_name).values() for line in found if "file" in line}
    told -= {line["file"] for line in lines(store_name)["deleted"]}
    assert told == files


def test_truth_counts_add_up(store_name: str) -> None:
    found = lines(store_name)
    entries = Counter(line["file"] for line in found["index_entry"])
    assert entries == {line["file"]: line["index_count"] - 1 for line in found["index_header"]}
    units = Counter((line["topic"], line["queue_id"]) for line in found["queue_unit"])
    first: dict[tuple[str, int], int] = {}
    for line in found["queue_file"]:
        topic, queue_id = line["file"].split("/")[1:3]
        first.setdefault((topic, int(queue_id)), line["base_offset"] // 20)
    assert units == {
        (line["topic"], line["queue_id"]): line["max"] - first[line["topic"], line["queue_id"]]
        for line in found["queue"]
    }
    dispatched = list(dict.fromkeys(line["commit_log_offset"] for line in found["dispatch"]))
    begin = found["log_file"][0]["base_offset"]
    records = [line["phy_offset"] for line in found["log_record"]]
    if manifest().stores[store_name].state != "unclean":
        assert [offset for offset in dispatched if offset >= begin] == records
    else:
        assert dispatched == records[: len(dispatched)]
    assert len(found["log_blank"]) + len(found["log_end_mark"]) == sum(
        line["ends_in"] == "blank" for line in found["log_file"]
    )


def test_sizes_in_the_manifest_are_the_files(store_name: str) -> None:
    store = manifest().stores[store_name]
    slots, entries = store.geometry
    sizes = {
        "index": 40 + 4 * slots + 20 * entries,
        "queue": store.consume_queue_file_size,
        "log": store.commit_log_file_size,
        "entry_index": 167_772_160,
        "ext": store.consume_queue_ext_file_size,
        "checkpoint": 4096,
    }
    for file in store.files:
        assert file.kind == "other" or file.size == sizes[file.kind], file.file
    assert sum(file.size for file in store.files) == store.unpacked_size


def test_unpacked_files_are_the_recorded_ones(store_name: str, golden_store: Callable[[str], Path]) -> None:
    directory = golden_store(store_name)
    found = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    recorded = {file.file: file for file in manifest().stores[store_name].files}
    assert set(found) == set(recorded)
    for name, path in found.items():
        with path.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == recorded[name].sha256, name


def test_zeros_become_holes(golden_store: Callable[[str], Path]) -> None:
    if not hasattr(os.stat_result, "st_blocks"):
        pytest.skip("this system does not tell how much space a file takes")
    (index,) = (golden_store("default-geometry") / "index").iterdir()
    assert index.stat().st_size == 420_000_040
    assert index.stat().st_blocks * 512 < 64 << 20


def test_an_unknown_store_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownStoreError, match="mixed"):
        open_store("nope", tmp_path)


def test_unpacking_overwrites_nothing(tmp_path: Path) -> None:
    open_store("ext", tmp_path)
    with pytest.raises(FileExistsError):
        open_store("ext", tmp_path)


def test_no_store_names_the_machine_that_made_it(store_name: str) -> None:
    records = lines(store_name)["log_record"]
    hosts = {record[host].rpartition(":")[0] for record in records for host in ("born_host", "store_host")}
    assert hosts <= {"127.0.0.1", "[::1]", "[2001:db8::7]"}
    unique = {record["uniq_key"].lstrip("0") for record in records if record["uniq_key"] is not None}
    assert {key[:8] for key in unique} == {"7F000001"}


# What the scenarios are for is really in the stores.


def test_mixed_rolls_an_index_file_in_mid_message() -> None:
    headers = lines("mixed")["index_header"]
    assert len(headers) > 3
    pairs = itertools.pairwise(headers)
    assert any(old["end_phy_offset"] == new["begin_phy_offset"] for old, new in pairs)


def test_mixed_has_colliding_keys_under_one_hash() -> None:
    keys = {line["key"] for line in lines("mixed")["index_entry"] if line["key_hash"] == 10_606_476}
    assert keys == {"AaTopic#Aa", "AaTopic#BB", "BBTopic#Aa", "BBTopic#BB"}


def test_mixed_has_keys_beyond_ascii_and_the_basic_plane() -> None:
    keys = [line["key"] for line in lines("mixed")["index_entry"]]
    assert any("\u8ba2" in key for key in keys)
    assert any("\U0001f680" in key for key in keys)


def test_mixed_has_records_of_every_kind() -> None:
    records = lines("mixed")["log_record"]
    topics = {record["topic"] for record in records}
    assert {"SCHEDULE_TOPIC_XXXX", "%RETRY%golden-group", "%DLQ%golden-group"} <= topics
    assert max(len(topic) for topic in topics) == 127
    assert any(record["sys_flag"] & 1 for record in records)
    assert any(record["reconsume_times"] == 1 for record in records)
    assert any(record["tags"] is None for record in records)
    assert any(record["keys"] is None for record in records)
    assert any(record["tags_code"] < 0 for record in records)
    assert any(record["flag"] < 0 for record in records)


def test_mixed_has_queues_of_several_files() -> None:
    assert max(line["base_offset"] for line in lines("mixed")["queue_file"]) >= 1200


def test_small_roll_has_a_time_difference_in_entry_1_of_a_rolled_file() -> None:
    firsts = [line for line in lines("small-roll")["index_entry"] if line["entry"] == 1]
    assert any(line["time_diff"] > 0 for line in firsts[1:])


def test_small_roll_was_restarted() -> None:
    assert {line["start"] for line in lines("small-roll")["dispatch"]} == {1, 2}


def test_ext_has_units_with_and_without_a_bit_map_and_ends_marked_early() -> None:
    sizes = Counter(line["size"] for line in lines("ext")["ext_unit"])
    assert sizes[20] > 0
    assert sum(count for size, count in sizes.items() if size > 20) > 0
    assert any(line["used"] == line["size"] for line in lines("ext")["ext_file"])


def test_transactions_have_every_type_and_every_fate() -> None:
    records = lines("transactions")["log_record"]
    assert {(record["sys_flag"] & 12, record["topic"]) for record in records} >= {
        (12, "Plain"),
        (4, "Plain"),
        (8, "Plain"),
        (8, "Paid"),
        (0, "RMQ_SYS_TRANS_HALF_TOPIC"),
        (0, "RMQ_SYS_TRANS_OP_HALF_TOPIC"),
        (0, "TRANS_CHECK_MAX_TIME_TOPIC"),
    }
    assert not any(record["topic"] == "Paid" and "rollback" in record["keys"] for record in records)
    assert any(record["topic"] == "Paid" and "until-checked" in record["keys"] for record in records)
    queued = {line["phy_offset"] for line in lines("transactions")["queue_unit"]}
    assert {record["sys_flag"] & 12 for record in records if record["phy_offset"] not in queued} == {4, 12}


def test_transactions_index_prepared_but_not_rolled_back_records() -> None:
    keys = {line["key"] for line in lines("transactions")["index_entry"]}
    assert {f"Plain#raw-{i}" in keys for i in (1, 2, 3)} == {True}
    assert "Plain#raw-0" not in keys


def test_lmq_puts_one_message_into_several_queues() -> None:
    queues = defaultdict(set)
    for line in lines("lmq")["queue_unit"]:
        queues[line["phy_offset"]].add(line["topic"])
    assert max(len(topics) for topics in queues.values()) >= 5
    assert any({"Mirror", "Devices"} <= topics for topics in queues.values())
    delayed = [line for line in lines("lmq")["log_record"] if line["topic"] == "SCHEDULE_TOPIC_XXXX"]
    assert any(len(queues[line["phy_offset"]]) > 1 for line in delayed)


def test_lmq_misses_messages_after_the_restart() -> None:
    told = {(line["topic"], line["phy_offset"]) for line in lines("lmq")["queue_unit"]}
    missing = {
        (line["start"], (queue, line["commit_log_offset"]) in told)
        for line in lines("lmq")["dispatch"]
        for queue in line["properties"].get("INNER_MULTI_DISPATCH", "").split(",")
        if queue.startswith("%LMQ%")
    }
    assert missing == {(1, True), (2, True), (2, False)}


def test_ipv6_has_each_mixture_of_host_lengths() -> None:
    assert {line["sys_flag"] & 48 for line in lines("ipv6")["log_record"]} == {0, 16, 32, 48}


def test_expired_has_lost_files_of_every_kind() -> None:
    found = lines("expired")
    assert {line["file"].split("/")[0] for line in found["deleted"]} == {"commitlog", "consumequeue", "index"}
    assert {(line["start"], line["by"]) for line in found["deleted"]} == {(1, "expiry"), (2, "expiry")}
    begin = found["log_file"][0]["base_offset"]
    assert begin > 0
    assert any(line["min"] > 0 for line in found["queue"])
    assert any(line["max_physic_offset"] < begin for line in found["queue"])
    assert any(line["phy_offset"] < begin for line in found["index_entry"])
    # Asked for such a message, the broker names an offset and sends nothing.
    assert any(line["offsets"] and not line["messages"] for line in found["query"])


def test_killed_lies_as_it_was_killed() -> None:
    found = lines("killed")
    assert "abort" in {file.file for file in manifest().stores["killed"].files}
    assert found["log_file"][-1]["used"] == 0
    assert len(found["dispatch"]) < len(found["log_record"])
    (checkpoint,) = found["checkpoint"]
    assert found["index_header"][-1]["end_timestamp"] > checkpoint["index_msg_timestamp"]


def test_killed_restarted_lost_and_gained_what_the_checkpoint_says() -> None:
    before, after = lines("killed"), lines("killed-restarted")
    (checkpoint,) = before["checkpoint"]
    lost = [
        line["file"]
        for line in before["index_header"]
        if line["end_timestamp"] > checkpoint["index_msg_timestamp"]
    ]
    deleted = [line["file"] for line in after["deleted"]]
    assert deleted == [before["log_file"][-1]["file"], *lost]
    assert lost
    first, again = ([line for line in after["dispatch"] if line["start"] == start] for start in (1, 2))
    assert first == before["dispatch"]
    bases = [line["base_offset"] for line in before["log_file"]]
    assert again[0]["commit_log_offset"] in bases[1:]
    assert again[0]["commit_log_offset"] < first[-1]["commit_log_offset"]
    # What recovery dispatches, before it knows the delay levels, has the hash of its tags.
    codes = {line["commit_log_offset"]: line["tags_code"] for line in first}
    assert {
        codes[line["commit_log_offset"]] == line["tags_code"]
        for line in again
        if line["topic"] == "SCHEDULE_TOPIC_XXXX"
    } == {False}


def test_killed_restarted_holds_a_message_twice() -> None:
    entries = Counter((line["key"], line["phy_offset"]) for line in lines("killed-restarted")["index_entry"])
    assert max(entries.values()) == 2


def test_replicas_have_the_same_messages() -> None:
    for kind in ("log_file", "log_record", "queue_unit"):
        assert lines("replica")[kind] == lines("replica-slave")[kind]
    entries = [
        [(line["key"], line["phy_offset"], line["time_diff"]) for line in lines(name)["index_entry"]]
        for name in ("replica", "replica-slave")
    ]
    assert entries[0] == entries[1]
    late = lines("replica-late-slave")
    assert late["log_record"] == lines("replica")["log_record"][-len(late["log_record"]) :]
    assert any(line["size"] == 0x7FFFFFFF for line in late["queue_unit"])


def test_live_copy_is_a_beginning_of_live() -> None:
    whole, part = lines("live"), lines("live-copy")
    for kind in ("log_record", "index_entry", "dispatch"):
        assert part[kind] == whole[kind][: len(part[kind])]
        assert 100 < len(part[kind]) < len(whole[kind])
    assert "abort" in {file.file for file in manifest().stores["live-copy"].files}


# Tampering, in a copy of the package that another interpreter imports.


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package with its data, without the large store."""
    target = tmp_path / "copy" / "rocket_golden"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__", "default-geometry.*"))
    data = json.loads((target / "manifest.json").read_text("utf-8"))
    del data["stores"]["default-geometry"]
    (target / "manifest.json").write_text(json.dumps(data), "utf-8")
    return target


def run(copy: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
    script = f"import rocket_golden, sys; assert rocket_golden.__path__ == [{str(copy)!r}]\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=copy, capture_output=True, text=True, check=True
    )
    return done.stdout


def problems(copy: Path) -> list[str]:
    found: list[str] = json.loads(run(copy, "import json; print(json.dumps(rocket_golden.verify()))"))
    return found


def test_verify_notices_every_kind_of_tampering(copy: Path) -> None:
    assert problems(copy) == []
    archive = copy / "stores" / "mixed.tar.zst"
    data = bytearray(archive.read_bytes())
    data[1000] ^= 1
    archive.write_bytes(data)
    short = copy / "stores" / "ext.truth.jsonl.zst"
    short.write_bytes(short.read_bytes()[:-1])
    (copy / "stores" / "small-roll.truth.jsonl.zst").unlink()
    (copy / "stores" / "stray").touch()
    recorded = json.loads((copy / "manifest.json").read_text("utf-8"))
    recorded["stores"]["small-roll"]["files"][0]["sha256"] = "0" * 64
    recorded["stores"]["mixed"]["truth_lines"]["dispatch"] += 1
    (copy / "manifest.json").write_text(json.dumps(recorded), "utf-8")
    found = problems(copy)
    expected = (
        "ext.truth.jsonl.zst: found",
        "mixed.tar.zst: found SHA-256",
        "mixed.truth.jsonl.zst: found lines",
        "small-roll.tar.zst: checkpoint: found SHA-256",
        "small-roll.truth.jsonl.zst",
        "stray: not in the manifest",
    )
    assert len(found) == len(expected)
    assert all(any(text in problem for problem in found) for text in expected), found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside", tarfile.REGTYPE),
        ("/outside", tarfile.REGTYPE),
        ("a/../../outside", tarfile.REGTYPE),
        ("..\\outside", tarfile.REGTYPE),
        ("C:outside", tarfile.REGTYPE),
        ("link", tarfile.SYMTYPE),
        ("link", tarfile.LNKTYPE),
        ("pipe", tarfile.FIFOTYPE),
    ],
)
def test_an_archive_cannot_write_outside_its_directory(
    copy: Path, tmp_path: Path, name: str, kind: bytes
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        member = tarfile.TarInfo(name)
        member.type = kind
        member.linkname = "../../outside"
        tar.addfile(member)
    data = zstd.compress(packed.getvalue())
    (copy / "stores" / "ext.tar.zst").write_bytes(data)
    recorded = json.loads((copy / "manifest.json").read_text("utf-8"))
    recorded["stores"]["ext"]["archive"].update(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    (copy / "manifest.json").write_text(json.dumps(recorded), "utf-8")
    target = tmp_path / "target" / "inside"
    refused = run(
        copy,
        f"try: rocket_golden.open_store('ext', {str(target)!r})\n"
        "except rocket_golden.DamagedError as error: print(error)",
    )
    assert repr(name) in refused
    assert [path.name for path in (tmp_path / "target").rglob("*") if not path.is_dir()] == []


def test_a_manifest_that_is_none_is_said_to_be_none(copy: Path) -> None:
    for text in (
        "{",
        "[]",
        "{}",
        '{"rocketspec_golden": 2}',
        '{"rocketspec_golden": 1, "stores": {"a": {}}}',
    ):
        (copy / "manifest.json").write_text(text, "utf-8")
        said = run(
            copy,
            "try: rocket_golden.stores()\nexcept rocket_golden.DamagedError as error: print(error)",
        )
        assert said.startswith("manifest.json: found "), text
