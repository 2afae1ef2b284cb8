"""`audit --report`: one page that needs nothing else, and shows what a store contains without running it."""

import html
import re
import socket
from pathlib import Path

import rocket_golden
from playwright.sync_api import Browser
from store_bytes import overwrite
from verb_run import Run

VERB = "audit"


def page_of(run: Run, store: Path, *options: object, code: int = 0) -> str:
    """The page of an audit, in the folder `page` beside the store."""
    page = store.parent / "page" / "audit.html"
    done = run(store, "--report", page.parent, *options)
    assert (done.code, done.err, done.last) == (code, "", f"page: {page}")
    return page.read_text("utf-8")


def bars(text: str, *kinds: str) -> list[int]:
    """The number of bars of each kind."""
    return [text.count(f'fill="var(--{kind})"') for kind in kinds]


def test_a_page_shows_causes_gaps_index_and_queues(run: Run, store: Path) -> None:
    (store / "commitlog" / f"{32768:020}").unlink()
    text = page_of(run, store, code=1)
    assert text.count("<article") == 1
    assert "18 follow from it: 15 queue.dangling, 3 index.entry_dangling" in text
    # three files of the log, one gap, six index files of which three point into it
    assert bars(text, "log", "gap", "index", "damaged") == [3, 1, 3, 3]
    assert text.count("<td>Orders <") == 4
    assert "19 errors" in text
    assert "<td>91</td><td>72.1 %</td><td>5</td>" in text  # 44 of 61 slots of the last index file
    assert f"<h1>Store {store}</h1>" in text
    assert f"On {html.escape(socket.gethostname())}, level default, " in text
    assert "not checked: the bodies of the messages, and that queries reach each key (--deep)" in text


def test_a_group_without_a_title_is_headed_by_its_meaning(run: Run, store: Path) -> None:
    """And a queue with findings is marked, one whose units alone are missing has no file to mark."""
    unit = store / "consumequeue/Later/1/00000000000000000000"
    overwrite(unit, 20, b"\x01")
    text = page_of(run, store, "--deep", code=1)
    assert "<b>error</b> consumers get no message here; a restart may end the queue" in text
    assert "<b>error</b> \n" not in text
    assert text.count("with findings</span>") == 1
    assert "not checked" not in text


def test_a_note_is_not_headed_by_what_an_error_of_its_code_means(run: Run, store: Path) -> None:
    (store / "abort").touch()
    assert "<b>note</b> \n<p><code>store.abort</code>" in page_of(run, store)


def test_a_page_loads_nothing(run: Run, store: Path) -> None:
    text = page_of(run, store)
    assert not re.search(r"\b(src|href|action)=|<script|url\(", text)
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    assert "No findings." in text


def test_a_page_that_exists_is_kept(run: Run, store: Path, tmp_path: Path) -> None:
    page_of(run, store)
    again = run(store, "--report", tmp_path / "page")
    assert again.is_one_line(2, "audit.html: already exists; --force replaces it\n")
    page_of(run, store, "--force")
    assert run(store, "--report", store / "page").code == 2
    assert not (store / "page").exists()


def test_a_page_shows_the_log_of_several_directories(run: Run, tmp_path: Path) -> None:
    """Seven log files in three directories, five index files (golden/rocket_golden/manifest.json)."""
    store = rocket_golden.open_store("many-paths", tmp_path)
    folders = [part for name in "abc" for part in ("--commitlog", store / f"commitlog-{name}")]
    assert bars(page_of(run, store, *folders), "log", "gap", "index") == [7, 0, 5]


def test_a_page_on_a_telephone(run: Run, store: Path, tmp_path: Path, browser: Browser) -> None:
    """Nothing is beyond the edge: offsets, times and the ends of commands."""
    (store / "commitlog" / f"{32768:020}").unlink()
    page_of(run, store, code=1)
    page = browser.new_page(viewport={"width": 390, "height": 800}, is_mobile=True)
    page.goto((tmp_path / "page" / "audit.html").as_uri())
    wide = "[...document.querySelectorAll('.scroll, pre, body')].filter(item => item.scrollWidth > item.clientWidth).length"
    assert page.evaluate("document.querySelectorAll('.scroll, pre').length") >= 3
    assert page.evaluate(wide) == 0


def test_a_page_says_on_top_whether_a_broker_starts(run: Run, store: Path) -> None:
    sound = page_of(run, store)
    assert '<p class="note">Next start: a broker starts, and loses nothing</p>' in sound
    (store / "config/topics.json").write_text("{", "utf-8")
    (store / "config/topics.json.bak").write_text("{", "utf-8")
    broken = page_of(run, store, "--force", code=1)
    assert (
        '<p class="error">Next start: a broker does not start on this store: config/topics.json: ' in broken
    )
    assert broken.index("does not start on this store") < broken.index("Findings by cause")


def test_a_queue_that_lacks_units_is_marked(run: Run, store: Path) -> None:
    """The last of the 32 units of Orders/0, the twelfth of the second file, is zeros."""
    overwrite(store / "consumequeue/Orders/0/00000000000000000400", 220, bytes(20))
    text = page_of(run, store, code=1)
    assert 'Orders <span class="damaged">with findings</span></td><td>0<' in text
    assert text.count("with findings</span>") == 1


def test_a_page_has_no_column_of_what_is_unknown(run: Run, store: Path) -> None:
    """No geometry follows from index files of zeros, and so no use of slots and no chain."""
    assert "<th>longest chain</th>" in page_of(run, store)
    for file in (store / "index").iterdir():
        file.write_bytes(bytes(file.stat().st_size))
    text = page_of(run, store, "--force", code=1)
    assert "<h2>Index files</h2>" in text
    assert "<th>longest chain</th>" not in text
    assert "unknown" not in text


def test_a_page_shows_commands_of_prose_as_code(run: Run, store: Path) -> None:
    """A group's offset 33 of a queue of 32 units, with any of its cures."""
    (store / "config/consumerOffset.json").write_text('{"offsetTable":{"Orders@slow":{0:33}}}', "utf-8")
    text = page_of(run, store, code=1)
    assert "<code>rocketspec repair" in text
    assert "`" not in text
