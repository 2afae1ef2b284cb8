"""What is in the place of a store's file, and outputs that cannot be: one line each, never a traceback."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from verb_run import Verb

KINDS = ("commitlog", "index", "consumequeue/AaTopic/0")
MADE: dict[str, Callable[[Path], None]] = {
    "a directory": Path.mkdir,
    "not a regular file": os.mkfifo,
    "a symbolic link to nothing": lambda path: path.symlink_to("nowhere"),
}
FINDINGS = {"commitlog": "log.gap", "index": "index.size", "consumequeue": "queue.size"}
"""A broker refuses to start where its log or a queue holds anything else (`MappedFileQueue.doLoad` 161-184), and stops
loading index files where one cannot be opened (`IndexService.load` 81-84)."""


@pytest.mark.parametrize("reason", MADE)
@pytest.mark.parametrize("folder", KINDS)
def test_something_else_in_a_files_place(
    store: Path, folder: str, reason: str, tmp_path: Path, verb: Verb
) -> None:
    place = min((store / folder).iterdir())
    name = place.relative_to(store).as_posix()
    place.unlink()
    MADE[reason](place)
    for level in ("--quick", "--deep"):
        found = [one for one in verb("audit", store, level, "--json").rows if one["file"] == name]
        assert [finding["code"] for finding in found] == [FINDINGS[folder.partition("/")[0]]]
        assert reason in found[0]["message"]
    refused = verb("audit", store, "--restart", "--json").rows[-1]["refused"]
    assert (refused is not None) == (folder != "index")
    told = f"rocketspec: {name}: skipped, {reason}\n"
    assert verb("digest", store).err == told
    assert verb("decode", store, "--limit", 1).err.startswith(told)
    assert verb("rebuild", store, "-o", tmp_path / "new").err.startswith(told)
    if folder == "commitlog":
        assert told in verb("query", store, "--topic", "T", "--key", "k").err


@pytest.mark.parametrize(
    "arguments",
    [
        "decode mixed -o loop",
        "decode mixed -o loop/below",
        "rebuild mixed -o loop",
        "audit mixed --report loop",
        "inspect index --plot loop/plot.svg",
        "golden unpack lmq loop",
        "adapter new python -o loop",
        "conform --select IDX-HASH-1/* --report loop",
        "conform --store mixed --report loop",
        "spark decode mixed -o loop",
        "spark rebuild mixed -o loop",
    ],
)
def test_an_output_that_is_a_loop_of_links(
    store: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(store.parent)
    Path("loop").symlink_to("loop")
    Path("index").symlink_to(min((store / "index").iterdir()))
    monkeypatch.setattr("rocket_spark.open_context", lambda *_, **__: SimpleNamespace(stop=lambda: None))
    code, _, err = verb(*arguments.split())
    assert (code, err.count("\n"), "loop" in err) == (3, 1, True)
