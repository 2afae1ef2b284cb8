"""Fixtures for tools that not every machine has: they skip with one line, and fail where CI=true."""

from __future__ import annotations

import gc
import os
import re
import runpy
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from java_programs import SHORT_LIVED
from playwright.sync_api import Browser, sync_playwright
from rocket_golden import open_store

NODE_TOOLS = Path(__file__).parent / "project" / "run_pyright.py"
SPARK = "tests/spark/"
PYRIGHT = Path(__file__).parent / "project" / "test_pyright.py"
WITHOUT_SESSION = tuple(
    f"{SPARK}test_{name}.py"
    for name in ("cluster", "decode", "output", "sources_parts", "streaming", "transcripts")
)
"""Files of Spark's folder that take nothing of the session that the others share."""
UNITS = {"spark": (SPARK,), "site": ("tests/website/test_site.py", "tests/website/test_in_a_browser.py")}
SPLIT = (
    *(f"tests/conformance/test_{name}.py" for name in ("mutants", "properties_store")),
    "tests/cli/test_broken_stores.py",
    "tests/cli/test_transcripts.py",
    "tests/columnar/test_cases.py",
    "tests/relations/test_relations.py",
)
"""Long files whose tests share nothing: any worker takes any of them."""
TOOLS = {"java", "maven", "node", "chromium", "network"}
"""Fixtures and marks of tests that start other programs, and take longest."""
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes folders in it that are its own
ROOM = 8 << 30
"""Bytes in memory that the tests of `make test` do not fill; those of a soak are on a disk."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--soak`: only the long tests (`make soak`), which are not collected without it."""
    parser.addoption("--soak", action="store_true", help="run the tests marked soak, and only those")


def pytest_configure(config: pytest.Config) -> None:
    """Maven runs as briefly as it can; signals reach what a test starts; cycles are seldom looked for; files are kept in memory.

    Under nohup, or in the background of a shell, signals are ignored: also by each process that a test sends them to.
    """
    gc.set_threshold(
        200_000, 20, 20
    )  # a tenth of the time went into looking through modules and tests, which stay
    os.environ.setdefault("MAVEN_OPTS", SHORT_LIVED)
    # Making and removing a small store takes a disk twenty times as long.
    if not config.getoption("--soak") and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.hookimpl(tryfirst=True)  # the plugin reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps either the long tests or the others; what is left out is deselected, not skipped."""
    wanted = bool(config.getoption("--soak"))
    left_out = {item for item in items if (item.get_closest_marker("soak") is not None) != wanted}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]

    # The longest files come first, so that no worker is left with one of them at the end: those of Spark's session, a unit, before all.
    # Pyright runs beside the tests; the one that waits for it is the last.
    long = {item.path for item in items if TOOLS & {*item.keywords, *getattr(item, "fixturenames", ())}}
    items.sort(
        key=lambda item: (
            item.path == PYRIGHT,
            not item.nodeid.startswith(SPARK),
            item.nodeid.startswith(WITHOUT_SESSION),
            item.path not in long,
        )
    )
    for item in items:
        if not item.nodeid.startswith(SPLIT):
            item.add_marker(pytest.mark.xdist_group(_unit(item.nodeid)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fails where xdist's groups have no effect: each worker would make every fixture. What is collected stays."""
    ungrouped = [
        item for item in session.items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid
    ]
    if session.config.getoption("loadgroup", False) and ungrouped:
        raise pytest.UsageError(
            f"{ungrouped[0].nodeid}: this pytest and this xdist do not make groups of tests"
        )
    gc.freeze()


def _unit(nodeid: str) -> str:
    """The share of one worker: a file, or several that share a costly fixture."""
    unit = next((unit for unit in UNITS if nodeid.startswith(UNITS[unit])), None)
    return nodeid.partition("::")[0] if unit is None or nodeid.startswith(WITHOUT_SESSION) else unit


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in one line what was skipped, and for want of what."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if reasons:
        told = ", ".join(f"{reason} ({count} tests)" for reason, count in reasons.items())
        terminalreporter.write_line(f"skipped: {told}")


def _missing(what: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing, and with CI=true nothing is skipped", pytrace=False)
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        _missing("Chromium")
    return path


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Chromium, headless."""
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=chromium) as started:
        yield started


@pytest.fixture(scope="module")
def axe(node: str) -> str:
    """The source of axe-core."""
    assert node
    modules: Path = runpy.run_path(str(NODE_TOOLS))["node_modules"]()
    return (modules / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def java() -> str:
    """Path of a `java` of version 17 or later."""
    path = shutil.which("java")
    if path is None:
        _missing("a Java 17")
    version = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', version)
    if match is None or int(match[1]) < 17:
        _missing("a Java 17")
    return path


@pytest.fixture(scope="session")
def maven(java: str) -> str:
    """Path of `mvn`, with a Java 17 beside it."""
    path = shutil.which("mvn")
    if path is None or shutil.which("javac") is None:
        _missing("Maven with a JDK 17")
    return path


@pytest.fixture(scope="session")
def node() -> str:
    """Path of `npm`."""
    path = shutil.which("npm")
    if path is None or shutil.which("node") is None:
        _missing("Node.js with npm")
    return path


@pytest.fixture(scope="session")
def golden_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function from a golden store's name to the directory that it is unpacked in."""
    directory = tmp_path_factory.mktemp("golden")
    unpacked: dict[str, Path] = {}

    def unpack(name: str) -> Path:
        if name not in unpacked:
            unpacked[name] = open_store(name, directory)
        return unpacked[name]

    return unpack
