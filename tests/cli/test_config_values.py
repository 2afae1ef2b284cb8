"""Values that no broker writes in `config/*.json`: a finding if a start does not take them, and every verb does the rest."""

import json
import shutil
from pathlib import Path

import pytest
from rocket_columnar.config import load_config
from rocket_columnar.store import CONFIG_TABLES
from rocket_golden import open_store
from verb_run import Verb

FORMS = {
    "consumer_offsets": '{"offsetTable":{"AaTopic@g":{0:%s},"%s@g":{0:1},"BBTopic@%s":{0:1}}}',
    "delay_offsets": '{"offsetTable":{3:%s},"x":"%s%s"}',
    "topics": '{"topicConfigTable":{"AaTopic":{"perm":%s},"%s":{},"T":{"topicName":"%s"}}}',
    "subscription_groups": '{"subscriptionGroupTable":{"g":{"brokerId":%s},"%s":{"x":"%s"}}}',
    "consumer_filters": '{"filterDataByTopic":{"AaTopic":{"groupFilterData":{"g":{"bornTime":%s}}},"%s":{"x":"%s"}}}',
}
VALUES = {
    "two signs": ("--5", "--5"),
    "two signs as text": ('"--5"', "+-5"),
    "another pair of signs": ('"+-5"', "x"),
    "lone surrogate": ("1", "\\ud800"),
    "two lone surrogates": ('"\\udc00"', "\\udc00\\ud800"),
    "least of 64 bits": ("-9223372036854775808", "%%"),
    "greatest of 64 bits": ("9223372036854775807", "a/../b"),
    "infinite": ("1e400", "\\u0000\\u001b[2J"),
    "many digits": ("9" * 60_000, "9" * 60_000),
    "nested": ("[" * 100_000, "{"),
    "nested and whole": ('{"x":' * 40 + "1" + "}" * 40, "x" * 300),
    "list": ("[1,2]", ""),
    "truth value": ("true", "null"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_verb_goes_on(kind: str, verb: Verb, tmp_path: Path) -> None:
    store = shutil.copytree(open_store("small-roll", tmp_path / "golden"), tmp_path / "store")
    value, name = VALUES[kind]
    for file, table in CONFIG_TABLES.items():
        for path in (store / "config" / file, store / "config" / f"{file}.bak"):
            path.write_text(FORMS[table] % (value, name, name))
    stopped = {table for table in FORMS if not load_config(store, table).starts}
    assert verb("inspect", store).code in (0, 1)
    assert verb("inspect", store, "--json").code in (0, 1)
    audit = verb("audit", store, "--json")
    assert audit.code in (0, 1)
    rows = [json.loads(line) for line in audit.out.splitlines()]
    unreadable = {row["file"] for row in rows if row.get("code") == "config.unreadable"}
    names = {f"config/{file}" for file, table in CONFIG_TABLES.items() if table in stopped}
    assert {file.removesuffix(".bak") for file in unreadable} >= names - {"config/consumerFilter.json"}
    decoded = verb("decode", store, "-o", tmp_path / "out")
    assert decoded.code == bool(stopped), decoded.err
    assert {path.stem for path in (tmp_path / "out").iterdir()} >= {
        "commit_log",
        "consume_queue",
        "index_entries",
    }
    assert verb("query", store, "--topic", "AaTopic", "--key", "k").code in (0, 1)
    assert verb("repair", store, "--plan").code in (0, 1)
