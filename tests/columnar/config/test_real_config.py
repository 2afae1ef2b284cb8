"""Files of `config/` as the real managers of 4.9.3 load them, and as we read them (CFG-1 to CFG-3).

`ConfigLoads.java` calls `load()` of the real `ConsumerOffsetManager`, `TopicConfigManager` and `SubscriptionGroupManager`.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from real_broker import run_program
from rocket_columnar.config import LoadedConfig, load_config
from rocket_columnar.store import CONFIG_TABLES
from rocket_golden import open_store

pytestmark = pytest.mark.java

NAMES: Final = {table: name for name, table in CONFIG_TABLES.items()}
OFFSETS, DELAYS, TOPICS, GROUPS = "consumer_offsets", "delay_offsets", "topics", "subscription_groups"
OWN: Final = ("CID_", "SELF_TEST", "TOOLS", "FILTERSRV")  # beginnings of groups that the broker always has
UNREADABLE: Final = b"]"
BY_HAND: Final = (
    b"{'offsetTable':{'T1@g':{0:/**/9223372036854775807,1:\n\t\t-1},'T2@g1':{7:1000000000000}}/**/}"
)

Loaded = Sequence[tuple[LoadedConfig, dict[str, Any]]]
Loads = Callable[[Sequence[tuple[str, bytes, bytes | None]]], Loaded]


COLUMNS: Final = {
    OFFSETS: "topic group queue_id offset",
    DELAYS: "delay_level offset",
    TOPICS: "topic read_queue_nums write_queue_nums perm topic_filter_type topic_sys_flag order",
    GROUPS: "group consume_enable consume_broadcast_enable retry_queue_nums retry_max_times broker_id",
}


def of_java(table: str, loaded: dict[str, Any]) -> list[tuple[Any, ...]]:
    found = loaded["table"] or {}
    if table == OFFSETS:
        return sorted(
            (*key.partition("@")[::2], int(queue), int(offset))
            for key, queues in found.items()
            for queue, offset in queues.items()
        )
    if table == DELAYS:  # fastjson writes a large long as text
        return sorted((int(level), int(offset)) for level, offset in found.items())
    names = [re.sub("_(.)", lambda found: found[1].upper(), name) for name in COLUMNS[table].split()[1:]]
    return sorted(
        (name, *(int(row[key]) if key == "brokerId" else row[key] for key in names))
        for name, row in found.items()
        if table != GROUPS or not name.startswith(OWN)
    )


def of_ours(loaded: LoadedConfig) -> list[tuple[Any, ...]]:
    return sorted(
        tuple(row[name] for name in COLUMNS[loaded.table].split())
        for row in loaded.rows
        if loaded.table != GROUPS or not row["group"].startswith(OWN)
    )


@pytest.fixture
def loads(maven: str, tmp_path: Path) -> Loads:
    """What both load of tables, each from the bytes of its file and of the `.bak`, which may be missing."""
    del maven

    def load(given: Sequence[tuple[str, bytes, bytes | None]]) -> Loaded:
        stores = [tmp_path / str(number) for number in range(len(given))]
        lines = []
        for store, (table, main, backup) in zip(stores, given, strict=True):
            file = store / "config" / NAMES[table]
            file.parent.mkdir(parents=True)
            file.write_bytes(main)
            if backup is not None:
                file.with_name(f"{file.name}.bak").write_bytes(backup)
            lines.append(f"{table} {file}")
        asked, answer = tmp_path / "asked", tmp_path / "answer"
        asked.write_text("\n".join(lines) + "\n", "utf-8")
        run_program(Path(__file__).with_name("ConfigLoads.java"), tmp_path, asked, answer)
        theirs = [json.loads(line) for line in answer.read_text("utf-8").splitlines()]
        ours = [load_config(store, table) for store, (table, _, _) in zip(stores, given, strict=True)]
        return list(zip(ours, theirs, strict=True))

    return load


@pytest.fixture
def as_java(loads: Loads) -> Loads:
    """Loads tables with both, and compares."""

    def compare(given: Sequence[tuple[str, bytes, bytes | None]]) -> Loaded:
        loaded = loads(given)
        for (table, main, _), (ours, theirs) in zip(given, loaded, strict=True):
            assert ours.starts == theirs["load"], (main, ours.main.problem)
            if ours.starts:
                assert of_ours(ours) == of_java(table, theirs), main
        return loaded

    return compare


@pytest.fixture(scope="module")
def golden_files(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes]]:
    folder = tmp_path_factory.mktemp("golden")
    other, store = open_store("transactions", folder), open_store("mixed", folder)
    return [
        (table, (of / "config" / NAMES[table]).read_bytes())
        for table, of in ((OFFSETS, other), (DELAYS, store), (TOPICS, store), (GROUPS, store))
    ]


def test_each_length_of_each_file(as_java: Loads, golden_files: list[tuple[str, bytes]]) -> None:
    """A file that a power cut left shorter, or with zeros instead of its end, is not loaded; an empty one neither."""
    given = []
    for table, whole in [*golden_files, (OFFSETS, BY_HAND)]:
        lengths = range(len(whole) + 1) if len(whole) < 400 else range(0, len(whole) + 1, 7)
        given += [(table, whole[:length], UNREADABLE) for length in lengths]
        given += [(table, whole[:length].ljust(len(whole), b"\0"), UNREADABLE) for length in lengths[::5]]
        given.append((table, whole, UNREADABLE))
    as_java(given)


def test_which_file_is_taken(as_java: Loads, golden_files: list[tuple[str, bytes]]) -> None:
    table, whole = golden_files[0]
    older = whole.replace(b"0:70", b"0:41")
    as_java(
        [
            (table, main, backup)
            for main in (whole, b"", whole[:-1], UNREADABLE, b"\0" * 64, b"{}", b" \n")
            for backup in (older, b"", UNREADABLE, b"\0" * 64, None)
        ]
    )


BLANKS: Final = "\x01\b\t\v\f\x1f \x7f\x85\xa0\u3000\0"
ODD_FORMS: Final = (
    b'\xef\xbb\xbf{"offsetTable":{"a@g":{0:1}}}',
    b'// c\n{"offsetTable":{"a@g":{0:1 /* x */}}}\0\0\0',
    b'{"offsetTable":{"a\xff@g":{0:1}}}',
    b'{"offsetTable":{"a\xed\xa0\x80b\xed\xa0@g":{0:1}}}',
    b'{"offsetTable":{"a@g":{0:true\0}}}',
    b'{"offsetTable":{"a\tb\nc@g@h":{ 0 : 1 }}}',
    b'{"x":' + b"[" * 100_000,
    b'{"x":' * 100_000,
    *(b" ", b"\t\n", b"\b\f", b"\x01", b"\v", b" \0", b"null\0", b"null \0"),
)


def forms_of_fastjson() -> Iterator[tuple[str, str]]:
    """Texts by table: of `fastjson_values.txt` each value of a section in each of its forms, and blanks at each place."""
    text = Path(__file__).with_name("fastjson_values.txt").read_text("utf-8")
    for section in text.removesuffix("\n").split("\n---\n"):
        forms, _, values = section.partition("\n\n")
        for form in forms.split("\n")[1:]:
            table, _, around = form.partition(" ")
            yield from ((table, around.replace("%s", value)) for value in values.split("\n"))
    tokens = ("", "{", '"offsetTable":', '{"a@g":{0', ":", "1", "}}}", "")
    for blank in BLANKS:
        yield from (
            (OFFSETS, blank.join(("".join(tokens[:place]), "".join(tokens[place:]))))
            for place in range(len(tokens))
        )


def test_forms_that_fastjson_takes(as_java: Loads) -> None:
    given = [(OFFSETS, form, UNREADABLE) for form in ODD_FORMS]
    as_java([*given, *((table, form.encode(), UNREADABLE) for table, form in forms_of_fastjson())])


def test_a_setting_that_a_topic_has_twice(loads: Loads) -> None:
    """The broker takes the last, the first or one between; here it is the last."""
    settings = (b'"perm":2,"perm":4', b'"perm": 2,"perm": 4', b'"perm":2,"perm":4,"perm":6')
    loaded = loads([(TOPICS, b'{"topicConfigTable":{"A":{%s}}}' % text, UNREADABLE) for text in settings])
    assert [theirs["table"]["A"]["perm"] for _, theirs in loaded] == [4, 2, 4]
    assert [row["perm"] for ours, _ in loaded for row in ours.rows] == [4, 4, 6]


@pytest.mark.parametrize("text", ["\\ud800", "\\udc00", "\\udc00\\ud800", "x\\ud800y"])
def test_a_lone_surrogate_is_replaced(text: str, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / NAMES[OFFSETS]).write_text(f'{{"offsetTable":{{"{text}@g":{{0:1}}}}}}')
    [row] = load_config(tmp_path, OFFSETS).rows
    assert "\ufffd" in row["topic"]
    row["topic"].encode()
