"""One store and one adapter whose every text is hostile, on a real terminal and in a real browser: nothing acts."""

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from adapter_code import rocketspec
from playwright.sync_api import Browser
from store_bytes import Entry, checkpoint, ext_unit, index_file, put, record, unit
from verb_run import on_a_terminal

FIRST: Final = f"{0:020}"
NAME: Final = (
    "=1\x1b[2J\x1b]0;owned\x07\x9b5m\u202e\u2066\b<img src=x onerror=document.title='owned'>\n# h|[x](y)"
)
"""A file name; a topic, a key and a tag may also hold what a name cannot."""
TEXT: Final = f"{NAME}\0</script><script>document.title='owned'</script>\x1b[5;41m"

ALLOWED: Final = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|[\r\n\t]|[^\x00-\x1f\x7f-\x9f]")
"""Colours and what a progress bar sends; whatever a store or an adapter sends of it is escaped."""
FORBIDDEN: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]|\x1b\\[5;41m|\x1b\\[2J|\x1b\\]")

ADAPTER: Final = """\
import json, sys
evil = {text!r}
print(evil, file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "hello":
        answer = {{"protocol": 1, "name": evil, "version": evil, "language": evil, "ops": ["key.hash", "tags.code"],
                  "geometry": "any", "features": [evil]}}
    elif message["cmd"] == "case":
        outcome = {{"rejected": evil}} if "HASH" in message["dir"] else {{"errored": evil}}
        answer = {{"id": message["id"], "results": [outcome] * len(message["ops"]),
                  "files": [{{"role": evil, "path": "x"}}]}}
    else:
        break
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store\x1b[2J\u202e"
    texts = TEXT.encode()
    topic = texts[:120].decode("utf-8", "ignore").encode()
    properties = b"".join(name + b"\1" + texts + b"\2" for name in (b"KEYS", b"UNIQ_KEY", b"TAGS", texts))
    first = record(0, topic=topic, properties=properties, body=texts)
    second = record(len(first), topic=topic, properties=properties, body=texts, queue_offset=1, body_crc=1)
    third = record(len(first) + len(second) + 40, topic=b"T", properties=properties, body=texts)
    put(root, f"commitlog/{FIRST}", first + second + texts[:40].ljust(40, b"\x1b") + third)
    units = unit(0, len(first)) + unit(len(first), len(second)) + unit(1 << 40, 100) + unit(77, 1)
    for name in (NAME, "T"):
        put(root, f"consumequeue/{name}/0/{FIRST}", units)
        put(root, f"consumequeue_ext/{name}/0/{FIRST}", ext_unit(1, 2, texts))
        put(root, f"consumequeue/{name}/{NAME}/{FIRST}", units)
    put(root, "index/20260101000000000", index_file(7, 20, [Entry(5, 0, 0), Entry(6, 1 << 40, 1)]))
    for folder in ("index", "commitlog", f"consumequeue/{NAME}/0"):
        put(root, f"{folder}/{NAME}", texts)
    put(root, "checkpoint", checkpoint(1, 2, 3))
    put(root, "abort", b"")
    return root


def shown_by(commands: Sequence[Sequence[str]]) -> str:
    """The output that a terminal gets from `rocketspec` with each of these arguments, one after the other in one process."""
    program = (
        "import json, sys\n"
        "from rocketspec.__main__ import main\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    sys.argv = ['rocketspec', *(bytes.fromhex(one).decode('utf-8', 'surrogateescape') for one in arguments)]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        print('EXIT', end.code, flush=True)\n"
    )
    packed = json.dumps([[os.fsencode(word).hex() for word in command] for command in commands])
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    environment.pop("NO_COLOR", None)
    code, shown = on_a_terminal([sys.executable, "-c", program, packed], env=environment)
    assert code == 0
    return shown


def assert_nothing_acts(shown: str) -> None:
    assert "Traceback" not in shown
    acting = [line for line in shown.split("\n") if ALLOWED.sub("", line)]
    assert acting == []
    found = FORBIDDEN.search(shown)
    assert found is None, shown[max(found.start() - 80, 0) : found.end() + 80]


def test_verbs_over_a_hostile_store_on_a_terminal(store: Path, tmp_path: Path) -> None:
    queue = str(store / "consumequeue" / NAME / "0" / FIRST)
    log = str(store / "commitlog" / FIRST)
    whole = str(store)
    other = str(put(tmp_path / "other", f"commitlog/{FIRST}", record(0)))
    commands = [
        ["diff", log, other],
        ["inspect", whole], ["inspect", queue], ["inspect", log], ["inspect", log, "--at", "90"],
        ["decode", whole, "--format", "table"], ["decode", whole], ["decode", log, "--format", "csv"],
        ["decode", queue, "--format", "table"], ["query", whole, "--topic", TEXT, "--key", TEXT],
        ["query", whole, "--topic", TEXT, "--key", TEXT, "--scan"], ["query", whole, "--topic", "T", "--key", TEXT, "--explain"],
        ["query", whole, "--topic", "T", "--key", TEXT, "--scan", "--json"],
        ["audit", whole], ["audit", whole, "--json"], ["audit", whole, "--deep"], ["audit", whole, "--restart"],
        ["rebuild", whole, "-o", str(tmp_path / "rebuilt")], ["digest", whole], ["digest", whole, "--json"],
        ["diff", queue, str(store / "consumequeue" / "T" / "0" / FIRST)], ["diff", log, queue],
        ["conform", "--store", whole], ["decode", str(store / NAME)], ["inspect", NAME], ["audit", NAME],
        ["replay", NAME], [NAME], ["decode", whole, f"--{NAME}"], ["golden", "unpack", NAME, str(tmp_path / "x")],
    ]  # fmt: skip
    shown = shown_by(commands)
    codes = re.findall(r"EXIT (\w+)", shown)
    assert len(codes) == len(commands), shown[-2000:]
    assert set(codes) <= {"0", "1", "2", "3", "None"}
    assert_nothing_acts(shown)
    assert shown.count("owned") > 20  # the texts are shown, escaped
    for path in [*store.glob("*/*"), *store.glob("*/*/*/*")]:
        if path.is_file() and path.name == NAME:
            path.unlink()
    shutil.rmtree(store / "consumequeue" / NAME / NAME)
    shutil.rmtree(store / "consumequeue" / "T" / NAME)
    shutil.rmtree(store / "consumequeue_ext")
    shown = shown_by([["audit", whole, "--restart"], ["audit", whole], ["inspect", whole]])
    assert_nothing_acts(shown)
    assert "delete index/" in shown


def test_conform_with_a_hostile_adapter_on_a_terminal(tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        ADAPTER.format(text=NAME + "\0</script><script>document.title='owned'</script>"), "utf-8"
    )
    report, known = tmp_path / f"report{NAME[3:8]}", tmp_path / "known.txt"
    known.write_text(f"IDX-NONE\x1b[2J\u202e  diverged  {NAME[:20]}\n", "utf-8")
    command = ["conform", "--select", "IDX-HASH-*", "--report", str(report), "--baseline", str(known)]
    command += ["--", sys.executable, str(adapter)]
    check = ["adapter", "check", "--", sys.executable, str(adapter)]
    shown = shown_by([command, check])
    assert_nothing_acts(shown)
    assert re.findall(r"EXIT (\w+)", shown) == ["1", "1"]
    assert "owned" in shown
    _assert_files_are_inert(report)


def _assert_files_are_inert(report: Path) -> None:
    names = {path.suffix: path for path in report.iterdir() if path.is_file()}
    ET.fromstring(names[".xml"].read_text("utf-8"))
    for suffix in (".xml", ".md", ".html", ".jsonl"):
        text = names[suffix].read_text("utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), suffix
    markdown = names[".md"].read_text("utf-8")
    assert not re.search(r"(?<!\\)<(img|script)", re.sub(r"`[^`\n]*`", "", markdown))
    assert not re.search(r"^# h", markdown, re.MULTILINE)


def test_the_pages_in_a_browser(store: Path, browser: Browser, tmp_path: Path) -> None:
    """A page of an audit and of a suite: no text of theirs becomes an element, sets the title or runs."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(ADAPTER.format(text=TEXT), "utf-8")
    for arguments in (
        ["audit", str(store), "--report", str(tmp_path / "audit")],
        ["conform", "--select", "IDX-HASH-*", "--report", str(tmp_path / "suite"), "--", sys.executable, str(adapter)],
        ["conform", "--store", str(store), "--report", str(tmp_path / "verdict")],
    ):  # fmt: skip
        done = rocketspec(*arguments)
        assert done.returncode == 1, done.stderr
    pages = sorted(tmp_path.glob("*/*.html"))
    assert len(pages) >= 2
    opened = browser.new_page()
    for page in pages:
        opened.goto(page.as_uri())
        assert opened.title() != "owned"
        shown: str = opened.evaluate("document.documentElement.outerHTML")
        assert "owned" in shown, page
        assert "<img" not in shown
        assert "onerror=" not in re.sub(r">[^<]*<", "><", shown)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


def test_the_check_of_the_terminal_finds_what_acts() -> None:
    for text in ("\x1b]0;x\x07", "\x1b[2J", "\x9b5m", "a\u202eb", "\b", "\0"):
        with pytest.raises(AssertionError):
            assert_nothing_acts(f"line\n{text}")
    assert_nothing_acts("\x1b[1;31mred\x1b[0m\r\n")
