"""Files of `config/` as the real managers of 4.9.3 load them, and as we read them (CFG-1 to CFG-3).

`ConfigLoads.java` calls `load()` of the real `ConsumerOffsetManager`, `TopicConfigManager` and `SubscriptionGroupManager`.
"""

import json
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from real_broker import generator_jars
from rocket_columnar.config import LoadedConfig, load_config
from rocket_columnar.store import CONFIG_TABLES
from rocket_golden import open_store

pytestmark = pytest.mark.java

NAMES: Final = {table: name for name, table in CONFIG_TABLES.items()}
OFFSETS, DELAYS, TOPICS, GROUPS = "consumer_offsets", "delay_offsets", "topics", "subscription_groups"
OWN: Final = ("CID_", "SELF_TEST", "TOOLS", "FILTERSRV")
"""Beginnings of groups that the broker always has."""
UNREADABLE: Final = b"]"

Loads = Callable[[Sequence[tuple[str, bytes, bytes | None]]], None]


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
    names = (
        ("readQueueNums", "writeQueueNums", "perm", "topicFilterType", "topicSysFlag", "order")
        if table == TOPICS
        else ("consumeEnable", "consumeBroadcastEnable", "retryQueueNums", "retryMaxTimes", "brokerId")
    )
    return sorted(
        (name, *(int(row[key]) if key == "brokerId" else row[key] for key in names))
        for name, row in found.items()
        if table != GROUPS or not name.startswith(OWN)
    )


def of_ours(loaded: LoadedConfig) -> list[tuple[Any, ...]]:
    names = {
        OFFSETS: ("topic", "group", "queue_id", "offset"),
        DELAYS: ("delay_level", "offset"),
        TOPICS: (
            "topic",
            "read_queue_nums",
            "write_queue_nums",
            "perm",
            "topic_filter_type",
            "topic_sys_flag",
            "order",
        ),
        GROUPS: (
            "group",
            "consume_enable",
            "consume_broadcast_enable",
            "retry_queue_nums",
            "retry_max_times",
            "broker_id",
        ),
    }[loaded.table]
    return sorted(
        tuple(row[name] for name in names)
        for row in loaded.rows
        if loaded.table != GROUPS or not row["group"].startswith(OWN)
    )


@pytest.fixture
def as_java(maven: str, java: str, tmp_path: Path) -> Loads:
    """Compares what both load of tables, each from the bytes of its file and of the `.bak`, which may be missing."""
    del maven

    def compare(given: Sequence[tuple[str, bytes, bytes | None]]) -> None:
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
        class_path, flags = generator_jars()
        program = str(Path(__file__).with_name("ConfigLoads.java"))
        command = [java, *flags, f"-Duser.home={tmp_path}", "-cp", ":".join(class_path), program]
        subprocess.run([*command, str(asked), str(answer)], check=True, capture_output=True)
        theirs = [json.loads(line) for line in answer.read_text("utf-8").splitlines()]
        for store, (table, main, _), java_loaded in zip(stores, given, theirs, strict=True):
            ours = load_config(store, table)
            assert ours.starts == java_loaded["load"], (main, ours.main.problem)
            if ours.starts:
                assert of_ours(ours) == of_java(table, java_loaded), main

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
    for table, whole in golden_files:
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


FORMS: Final = (
    b"{'offsetTable':{'a@g':{0:1}}}",
    b"{offsetTable:{a:{0:1}}}",
    b'{"offsetTable":{"a@g":{"0":1,"1":"2",}, },}',
    b'{"offsetTable":{"a@g":{0:1,,1:2}}}',
    b'{"offsetTable":{"a@g":{0:1}}} x',
    b'{"offsetTable":{"a@g":{0:1}}}}',
    b'\xef\xbb\xbf{"offsetTable":{"a@g":{0:1}}}',
    b'// c\n{"offsetTable":{"a@g":{0:1 /* x */}}}\0\0\0',
    b'{"offsetTable":{"a@g":{0:null}}}',
    b'{"offsetTable":{"a@g":null}}',
    b'{"offsetTable":null}',
    b'{"offsetTable":[]}',
    b'{"offsetTable":{"a@g":[1]}}',
    b"null",
    b"[]",
    b'{"offsetTable":{"a@g":{0:1.5,1:1e3,2:-1,3:1L,4:+1,5:01}}}',
    b'{"offsetTable":{"a@g":{0:9223372036854775808}}}',
    b'{"offsetTable":{"a@g":{4294967296:1}}}',
    b'{"offsetTable":{"a@g":{"x":1}}}',
    b'{"offsetTable":{"a@g":{0:0x10}}}',
    b'{"offsetTable":{"a@g":{0:1,0:2},"a@g":{1:3}}}',
    b'{"offsetTable":{"a@g":{0:1}},"x":{"y":[1,2,{"z":null}]}}',
    b'{"offset_table":{"a@g":{0:1}}}',
    b'{"offsetTable":{"a\\u0041\\n\\x41\\"@g":{0:1}}}',
    '{"offsetTable":{"\u4e3b\u9898@g":{0:1}}}'.encode(),
    b'{"offsetTable":{"a\xff@g":{0:1}}}',
    b'{"offsetTable":{"a@g":{0:1} "b@g":{0:2}}}',
    b'{"offsetTable" {"a@g":{0:1}}}',
    b'{"offsetTable":{"a\tb\nc@g@h":{ 0 : 1 }}}',
)
OTHER_FORMS: Final = (
    (TOPICS, b'{"topicConfigTable":{"A":{"topicName":"A"}}}'),
    (TOPICS, b'{"dataVersion":null,"topicConfigTable":{"A":{}}}'),
    (
        TOPICS,
        b'{"topicConfigTable":{"A":{"topicName":"B","perm":"6","order":"true","topicFilterType":"MULTI_TAG"}}}',
    ),
    (TOPICS, b'{"topicConfigTable":{"A":{"perm":6.7,"order":1,"topicFilterType":1}}}'),
    (TOPICS, b'{"topicConfigTable":{"A":{"perm":null,"topicFilterType":"X","x":{"y":1}}}}'),
    (TOPICS, b'{"topicConfigTable":{"A":null}}'),
    (TOPICS, b'{"topicConfigTable":null}'),
    (TOPICS, b"{}"),
    (DELAYS, b'{"offsetTable":{1:4,"2":"7"}}'),
    (DELAYS, b'{"offsetTable":{1:4,2:null}}'),
    (DELAYS, b'{"offsetTable":null}'),
    (DELAYS, b"{}"),
    (GROUPS, b'{"subscriptionGroupTable":{"g":{"groupName":"g","retryQueueNums":2,"consumeEnable":false}}}'),
    (GROUPS, b'{"dataVersion":null}'),
    (GROUPS, b'{"subscriptionGroupTable":null}'),
)
BLANKS: Final = "\x01\b\t\v\f\x1f \x7f\x85\xa0\u3000\0"
NAMES_OF_TABLES: Final = (
    *(
        (OFFSETS, name, '{"a@g":{0:1}}')
        for name in ("OffsetTable", "offset-table", "_offset_table", "offset.table")
    ),
    *((DELAYS, name, "{1:5}") for name in ("offset_table", "OFFSETTABLE", "offsetTables")),
    *((TOPICS, name, '{"A":{}}') for name in ("topic_config_table", "TopicConfigTable", "topicConfig")),
    *(
        (GROUPS, name, '{"g":{}}')
        for name in ("subscription-group-table", "SubscriptionGroupTable", "isSubscriptionGroupTable")
    ),
)


def values() -> dict[str, list[str]]:
    """Lists of values, a value a line, by the heading above them."""
    text = Path(__file__).with_name("fastjson_values.txt").read_text("utf-8")
    parts = text.removeprefix("[").removesuffix("\n").split("\n\n[")
    return {lines[0].rstrip("]"): lines[1:] for lines in (part.split("\n") for part in parts)}


def forms_of_fastjson() -> list[tuple[str, str]]:
    """Texts by table: blanks at each place, names, numbers, flags, versions, comments, commas and escapes."""
    of = values()
    one = '{"offsetTable":{"a@g":{0:1}}}'
    tokens = ("", "{", '"offsetTable":', '{"a@g":{0', ":", "1", "}}}", "")
    forms = [
        (OFFSETS, blank.join(("".join(tokens[:place]), "".join(tokens[place:]))))
        for blank in BLANKS
        for place in range(len(tokens))
    ]
    forms += [(table, f'{{"{name}":{value}}}') for table, name, value in NAMES_OF_TABLES]
    for number in of["numbers"]:
        forms.append((OFFSETS, f'{{"offsetTable":{{"a@g":{{0:{number}}}}}}}'))
        forms.append((DELAYS, f'{{"offsetTable":{{1:{number}}}}}'))
        forms.append((TOPICS, f'{{"topicConfigTable":{{"A":{{"perm":{number}}}}}}}'))
        forms.append((GROUPS, f'{{"subscriptionGroupTable":{{"g":{{"brokerId":{number}}}}}}}'))
    for name in of["numbers_as_names"]:
        forms.append((OFFSETS, f'{{"offsetTable":{{"a@g":{{{name}:7}}}}}}'))
        forms.append((DELAYS, f'{{"offsetTable":{{{name}:7}}}}'))
    for flag in of["flags"]:
        forms.append((TOPICS, f'{{"topicConfigTable":{{"A":{{"order":{flag}}}}}}}'))
        forms.append((GROUPS, f'{{"subscriptionGroupTable":{{"g":{{"consumeEnable":{flag}}}}}}}'))
    forms += [
        (TOPICS, f'{{"topicConfigTable":{{"A":{{"topicFilterType":{name}}}}}}}') for name in of["filters"]
    ]
    forms += [
        (TOPICS, f'{{"topicConfigTable":{{"A":{{}}}},"dataVersion":{version}}}') for version in of["versions"]
    ]
    forms += [
        (GROUPS, f'{{"dataVersion":{version},"subscriptionGroupTable":{{"g":{{}}}}}}')
        for version in of["versions"]
    ]
    forms += [
        (OFFSETS, one + tail) for tail in ("/*", "/* x", "/* x */ /* y", "// x", "/", " /* a */ b", ",", ";")
    ]
    forms += [
        (OFFSETS, f'{{"offsetTable":{{{name}:{{0:7}}}}}}')
        for name in ["a", "$x", "1", "1a", "-a", "a-b", "null", "true", '"\\q"', '"\\1"', '"\\8"']
    ]
    return [
        *forms,
        (OFFSETS, '{"offsetTable":{"a@g":{,0:1}}}'),
        (OFFSETS, '{"offsetTable":{"a@g":{0:1,,}}}'),
        (DELAYS, '{"offsetTable":{,1:5}}'),
        (OFFSETS, '{"x":[1,2,],"offsetTable":{"a@g":{0:1,},},}'),
        (GROUPS, '{"subscriptionGroupTable":{"g":{"isConsumeEnable":false,"retry-queue_nums":4}}}'),
        (TOPICS, '{"data_version":null,"topicConfigTable":{"A":{}}}'),
        (TOPICS, '{"topic_config_table":null}'),
        *((OFFSETS, text) for text in (" ", "\t\n", "\b\f", "\x01", "\v", " \0", "// x", "/* x */")),
    ]


NUMBERS: Final = (
    *(
        b"5",
        b"-5",
        b"+5",
        b"+-5",
        b"--5",
        b"-+5",
        b"-",
        b"05",
        b"-0",
        b"5L",
        b"1e1",
        b"1e400",
        b"-1e400",
    ),
    *(
        b'"5"',
        b'"-5"',
        b'"+5"',
        b'"--5"',
        b'"+-5"',
        b'" 5"',
        b'"5 "',
        b'"5L"',
        b'"1,000"',
        b'"1e1"',
        b'"0x10"',
        b'"1_0"',
    ),
    *(
        b'""',
        b'"null"',
        b"null",
        b"true",
        b'"true"',
        b'"x"',
        b'"\\ud800"',
        b"[]",
        b"[5]",
        b"{}",
        b"NaN",
        b"undefined",
    ),
    *(b"9" * 70, b'"%s"' % (b"9" * 70), b"2147483648", b"9223372036854775808", '"\u0665"'.encode()),
)
"""What may stand where a number is expected."""
NAMES_OF_QUEUES: Final = (
    b"--5",
    b"+-5",
    b"+5",
    b"00",
    b'"--5"',
    b'"+-5"',
    b'" 5"',
    b'"\\ud800"',
)
TRUTHS: Final = (
    *(
        b'"T"',
        b'"F"',
        b'"y"',
        b'"N"',
        b'"True"',
        b'"x"',
        b'"on"',
        b'""',
        b"2",
        b"1.0",
        b"[]",
        b"{}",
        b"--5",
        b'"\\udc00"',
    ),
)
FILTER_TYPES: Final = (
    b'"multi_tag"',
    b"2",
    b"-1",
    b"1.0",
    b"[]",
    b"{}",
    b"true",
    b'"1"',
    b'"\\ud800"',
    b"99999999999",
)
WRONG_TYPES: Final = (
    *((OFFSETS, b'{"offsetTable":%s}' % value) for value in (b'""', b'"x"', b"5", b"true", b"[[]]")),
    *((OFFSETS, b'{"offsetTable":{"a@g":%s}}' % value) for value in (b'""', b'"x"', b"5", b"true")),
    *((OFFSETS, value) for value in (b'"x"', b"5", b"true", b"[1]", b"[{}]", b'{"x":--5}', b'{"\\ud800":1}')),
    *(
        (OFFSETS, b'{"x":%s%s}' % (b"[" * 50, b"]" * 50)),
        (OFFSETS, b'{"x":' + b"[" * 100_000),
        (OFFSETS, b'{"x":' * 100_000),
    ),
    *((TOPICS, b'{"dataVersion":%s}' % value) for value in (b"5", b'"x"', b"[]", b"{}", b'{"counter":5}')),
    *((TOPICS, b'{"topicConfigTable":{"A":%s}}' % value) for value in (b"5", b'"x"', b"[]")),
    (OFFSETS, b'{"offsetTable":{5:{0:1}}}'),
    (TOPICS, b'{"topicConfigTable":{5:{}}}'),
)


def test_forms_that_fastjson_takes(as_java: Loads) -> None:
    given = [(OFFSETS, form, UNREADABLE) for form in FORMS]
    given += [(table, form, UNREADABLE) for table, form in OTHER_FORMS]
    as_java([*given, *((table, form.encode(), UNREADABLE) for table, form in forms_of_fastjson())])


def test_values_of_every_kind(as_java: Loads) -> None:
    forms = (
        (OFFSETS, b'{"offsetTable":{"a@g":{0:%s}}}', NUMBERS),
        (DELAYS, b'{"offsetTable":{1:%s}}', NUMBERS),
        (TOPICS, b'{"topicConfigTable":{"A":{"perm":%s}}}', NUMBERS),
        (GROUPS, b'{"subscriptionGroupTable":{"g":{"brokerId":%s}}}', NUMBERS),
        (OFFSETS, b'{"offsetTable":{"a@g":{0:2,%s:1}}}', NAMES_OF_QUEUES),
        (DELAYS, b'{"offsetTable":{%s:1}}', NAMES_OF_QUEUES),
        (TOPICS, b'{"topicConfigTable":{"A":{"order":%s}}}', TRUTHS),
        (TOPICS, b'{"topicConfigTable":{"A":{"topicFilterType":%s}}}', FILTER_TYPES),
    )
    given = [(table, form % value, UNREADABLE) for table, form, values in forms for value in values]
    as_java([*given, *((table, form, UNREADABLE) for table, form in WRONG_TYPES)])


def test_a_pair_of_surrogates(as_java: Loads) -> None:
    """A pair is one character, to the broker and to us; one alone is kept by the broker, and replaced here."""
    form = b'{"offsetTable":{"\\ud83d\\ude00@\\uD83D\\uDE01":{0:1}}}'
    as_java([(OFFSETS, form, UNREADABLE)])


@pytest.mark.parametrize("text", ["\\ud800", "\\udc00", "\\udc00\\ud800", "x\\ud800y"])
def test_a_lone_surrogate_is_replaced(text: str, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / NAMES[OFFSETS]).write_text(f'{{"offsetTable":{{"{text}@g":{{0:1}}}}}}')
    [row] = load_config(tmp_path, OFFSETS).rows
    assert "\ufffd" in row["topic"]
    row["topic"].encode()


def test_offsets_of_a_seed(as_java: Loads) -> None:
    choose = random.Random(5)  # noqa: S311 - reproducible inputs
    given = []
    for _ in range(300):
        topics = {
            f"T{choose.randrange(9)}@g{choose.randrange(3)}": {
                choose.randrange(8): choose.choice((0, 1, 7, -1, (1 << 63) - 1, 10**12)) for _ in range(4)
            }
            for _ in range(choose.randrange(4))
        }
        blank = choose.choice(("", " ", "\n\t\t", "/**/"))
        quote = choose.choice(('"', "'"))
        inner = ",".join(
            f"{quote}{key}{quote}:{blank}{{{','.join(f'{queue}:{blank}{offset}' for queue, offset in queues.items())}}}"
            for key, queues in topics.items()
        )
        text = f"{{{quote}offsetTable{quote}:{{{inner}}}{blank}}}"
        cut = choose.choice((len(text), len(text), choose.randrange(1, len(text))))
        given.append((OFFSETS, text[:cut].encode(), UNREADABLE))
    as_java(given)
