"""What someone types first: one line says what is wrong and how the verb is called."""

import pytest
from verb_run import Verb


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
        ("audit --store store", "audit: no such option: --store", "`rocketspec audit ~/store --deep --json`"),
        (
            "audit store --depp",
            "audit: no such option: --depp; did you mean --deep",
            "~/store --deep --json`",
        ),
        (
            "rebuild store out",
            "rebuild: missing option '-o' / '--output'; example: ",
            "b.conf`",
        ),
        (
            "rebuild store -o x --queue-file-size 0",
            "rebuild: invalid value for '--queue-file-size': ",
            "conf`",
        ),
        ("diff a", "diff: missing argument 'B'; example: `rocketspec diff ", "~/slave/store`"),
        ("golden unpack", "golden unpack: missing argument 'NAME'; example: ", "unpack mixed /tmp/golden`"),
        ("audti store", "no such command 'audti'; did you mean 'audit'?", "see `rocketspec --help`"),
        ("spec IDX-PUT-5", "spec: no such command 'IDX-PUT-5'", "see `rocketspec spec --help`"),
        ("conform --store", "option '--store' requires an argument", "argument"),
        ("conform .", ".: a directory; a store is judged by `rocketspec conform --store .`", "--store .`"),
    ],
)
def test_the_first_guess(verb: Verb, arguments: str, begin: str, end: str) -> None:
    code, out, err = verb(*arguments.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"rocketspec: {begin}")
    assert err.endswith(f"{end}\n")


def test_a_group_without_a_command_shows_its_help(verb: Verb) -> None:
    code, out, err = verb("golden")
    assert (code, err) == (2, "")
    assert "unpack" in out


@pytest.mark.parametrize("arguments", ["--version", "spec --help", "spec show IDX-PUT-5"])
def test_what_succeeds_ends_with_0(verb: Verb, arguments: str) -> None:
    assert verb(*arguments.split()).code == 0


def test_a_directory_in_place_of_a_case_file(verb: Verb) -> None:
    code, _, err = verb("replay", ".")
    assert code == 3
    assert err.startswith("rocketspec: .: found a directory, expected ")
