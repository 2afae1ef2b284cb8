"""The page of licences lists what the lock files install."""

import re

import pytest

from tools.licences_page import PAGE, locked


@pytest.mark.parametrize("name", ["base", "engine", "dev"])
def test_each_locked_package_has_a_licence(name: str) -> None:
    rows = dict(re.findall(r"^\| ([\w.-]+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    missing = {package for package in locked(name) if rows.get(package, "not stated") == "not stated"}
    assert missing == set(), "python -m tools.licences_page"


def test_no_package_is_listed_that_is_not_installed() -> None:
    rows = set(re.findall(r"^\| ([\w.-]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)) - {"package"}
    assert rows - {"---"} == locked("base") | locked("engine") | locked("dev")
