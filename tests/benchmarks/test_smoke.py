"""The benchmarks run, on sizes at which their figures mean nothing; no test looks at a time."""

import pytest

from benchmarks import growth, verbs
from benchmarks.__main__ import main


def bench(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["--quick", "--rounds", "1", *arguments])
    return capsys.readouterr().out


def titles(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("## ")]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_every_section_without_the_jar(
    *, whole: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one verb or two in each table; with all of them in a soak."""
    for module, table, few in (
        (verbs, "_VERBS", ("digest",)),
        (growth, "_OF_BYTES", ("decode",)),
        (growth, "_OF_QUEUES", ("list", "query --unique-key")),
    ):
        if not whole:
            monkeypatch.setattr(module, table, {name: getattr(module, table)[name] for name in few})
    text = bench(capsys, "--no-java")
    assert titles(text) == [
        *("Bars", "Decode an index file", "Build an index file", "Scan a commit log"),
        *("Verbs from the shell", "Memory", "Growth"),
    ]
    assert "real putKey" not in text


@pytest.mark.java
@pytest.mark.soak
def test_engine_and_real_jar_agree(maven: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = bench(capsys, *(f"--only={name}" for name in ("build", "log")))
    assert titles(text) == ["Bars", "Build an index file", "Scan a commit log"]
    assert "| real putKey, 4.9.3 | 3,000 |" in text
    assert "| real checkMessageAndReturnSize, 4.9.3 | 500 |" in text


@pytest.mark.parametrize("arguments", [["--only", "speed"], ["--rounds", "0"]])
def test_what_cannot_be_measured_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err
