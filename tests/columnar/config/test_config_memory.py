"""Memory that files of `config/` take: docs/reliability.md has the formula."""

import tracemalloc
from pathlib import Path

import pytest
from rocket_columnar.config import load_config
from rocket_columnar.store import CONFIG_TABLES

PER_BYTE = 60
NAMES = {table: name for name, table in CONFIG_TABLES.items()}
TEXTS = {
    "queues": (
        "consumer_offsets",
        '{"offsetTable":{"a@g":{' + ",".join(f"{n}:{n}" for n in range(10_000)) + "}}}",
    ),
    "long topic": (
        "consumer_offsets",
        '{"offsetTable":{"' + "a" * 50_000 + '@g":{' + ",".join(f"{n}:{n}" for n in range(10_000)) + "}}}",
    ),
    "groups": (
        "consumer_offsets",
        '{"offsetTable":{' + ",".join(f'"{n:x}":{{0:1}}' for n in range(10_000)) + "}}",
    ),
    "delays": ("delay_offsets", '{"offsetTable":{' + ",".join(f"{n}:{n}" for n in range(10_000)) + "}}"),
    "topics": ("topics", '{"topicConfigTable":{' + ",".join(f"t{n:x}:{{}}" for n in range(10_000)) + "}}"),
    "settings": (
        "subscription_groups",
        '{"subscriptionGroupTable":{' + ",".join(f"t{n:x}:{{}}" for n in range(10_000)) + "}}",
    ),
    "filters": (
        "consumer_filters",
        '{"filterDataByTopic":{a:{groupFilterData:{'
        + ",".join(f"t{n:x}:{{}}" for n in range(10_000))
        + "}}}}",
    ),
    "lists": ("topics", '{"x":[' + "[[[[[[[[]]]]]]]]," * 2_500 + "]}"),
    "objects": ("topics", '{"x":[' + "{a:{a:{a:{}}}}," * 2_500 + "]}"),
    "blanks": ("topics", " \n" * 50_000 + "{}"),
    "escapes": ("topics", '{"x":"' + "\\n\u20ac" * 7_500 + '"}'),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_byte_takes_at_most_60(kind: str, tmp_path: Path) -> None:
    table, text = TEXTS[kind]
    path = tmp_path / "config" / NAMES[table]
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    tracemalloc.start()
    try:
        loaded = load_config(tmp_path, table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert loaded.starts
    assert peak < PER_BYTE * path.stat().st_size
