"""What someone types first: one line says what is wrong and how the verb is called."""

from __future__ import annotations

import pytest
from rocketspec import __main__ as command


def line_of(arguments: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.argv", ["rocketspec", *arguments.split()])
    with pytest.raises(SystemExit) as caught:
        command.main()
    out, err = capfd.readouterr()
    assert (caught.value.code, out, err.count("\n")) == (2, "", 1)
    return err.rstrip()


@pytest.mark.parametrize(
    ("arguments", "begin", "end"),
    [
        (
            "query store TopicTest key1",
            "query: unexpected argument: TopicTest key1; example: `rocketspec query ~/store --topic ",
            "--explain`",
        ),
        (
            "decode store index_entries",
            "decode: unexpected argument: index_entries; example: `rocketspec decode ~/store --table ",
            "--limit 10`",
        ),
        (
            "audit --store store",
            "audit: no such option: --store",
            "example: `rocketspec audit ~/store --deep --json`",
        ),
        (
            "audit store --depp",
            "audit: no such option: --depp; did you mean --deep",
            "~/store --deep --json`",
        ),
        (
            "rebuild store out",
            "rebuild: missing option '-o' / '--output'; example: ",
            "rocketmq/broker.conf`",
        ),
        ("diff a", "diff: missing argument 'B'; example: `rocketspec diff ", "20260131120000012`"),
        ("golden unpack", "golden unpack: missing argument 'NAME'; example: ", "unpack mixed /tmp/golden`"),
        ("audti store", "no such command 'audti'; did you mean 'audit'?", "see `rocketspec --help`"),
        ("spec IDX-PUT-5", "spec: no such command 'IDX-PUT-5'", "see `rocketspec spec --help`"),
        (
            "decode store --limit x",
            "decode: invalid value for '--limit': Input should be a valid integer",
            "--limit 10`",
        ),
        ("conform --store", "option '--store' requires an argument", "argument"),
        ("conform .", ".: a directory; a store is judged by `rocketspec conform --store .`", "--store .`"),
    ],
)
def test_the_first_guess(
    arguments: str, begin: str, end: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = line_of(arguments, capfd, monkeypatch)
    assert line.startswith(f"rocketspec: {begin}")
    assert line.endswith(end)


def test_a_group_without_a_command_shows_its_help(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["rocketspec", "golden"])
    with pytest.raises(SystemExit) as caught:
        command.main()
    out, err = capfd.readouterr()
    assert (caught.value.code, err) == (2, "")
    assert "unpack" in out


@pytest.mark.parametrize("arguments", [["--version"], ["spec", "--help"], ["spec", "show", "IDX-PUT-5"]])
def test_what_succeeds_ends_with_0(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["rocketspec", *arguments])
    with pytest.raises(SystemExit) as caught:
        command.main()
    assert caught.value.code == 0


def test_a_directory_in_place_of_a_case_file(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["rocketspec", "replay", "."])
    with pytest.raises(SystemExit) as caught:
        command.main()
    assert caught.value.code == 3
    assert capfd.readouterr().err.startswith("rocketspec: .: found a directory, expected ")
