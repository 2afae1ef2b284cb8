"""`audit --prometheus`: the exposition format by hand, exit codes, and the files that are refused."""

import re
from pathlib import Path

import pytest
from rocket_golden import open_store
from verb_run import Verb


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return open_store("small-roll", tmp_path)


def test_a_healthy_store(verb: Verb, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "metrics" / "store.prom"
    assert verb("audit", store, "--quick", "--prometheus", out).code == 0
    lines = out.read_text("ascii").splitlines()
    assert lines[:6] == [
        "# HELP rocketspec_audit_findings Findings of the last audit by severity; errors and warnings need action.",
        "# TYPE rocketspec_audit_findings gauge",
        f'rocketspec_audit_findings{{store="{store}",severity="error"}} 0',
        f'rocketspec_audit_findings{{store="{store}",severity="warning"}} 0',
        f'rocketspec_audit_findings{{store="{store}",severity="note"}} 0',
        "# HELP rocketspec_audit_code_findings Findings of the last audit by code; a code without findings is absent.",
    ]
    assert re.fullmatch(r'rocketspec_audit_timestamp_seconds\{store="[^"]+"\} \d{10}', lines[-1])
    assert [path.name for path in out.parent.iterdir()] == ["store.prom"]


def test_findings_and_their_exit_code(verb: Verb, store: Path, tmp_path: Path) -> None:
    (store / "abort").touch()
    index = sorted((store / "index").iterdir())[3]
    data = bytearray(index.read_bytes())
    data[35] ^= 1  # hash_slot_count
    index.write_bytes(data)
    out = tmp_path / "store.prom"
    assert verb("audit", store, "--prometheus", out).code == 1
    text = out.read_text("ascii")
    assert 'severity="error"} 1\n' in text
    assert 'code="index.header_count",severity="error"} 1\n' in text
    assert 'code="store.abort",severity="note"} 1\n' in text
    (store / "abort").unlink()
    verb("audit", store, "--quick", "--prometheus", out)  # its own file is replaced
    assert "store.abort" not in out.read_text("ascii")


def test_a_name_with_a_quote_a_backslash_and_a_line_feed(verb: Verb, store: Path, tmp_path: Path) -> None:
    odd = store.rename(tmp_path / 'a"b\\c\nd')
    out = tmp_path / "store.prom"
    assert verb("audit", odd, "--quick", "--prometheus", out).code == 0
    lines = out.read_text("ascii").splitlines()
    assert rf'{{store="{tmp_path}/a\"b\\c\\x0ad"}}' in lines[-1]


def test_files_that_are_refused(verb: Verb, store: Path, tmp_path: Path) -> None:
    other = tmp_path / "node.prom"
    other.write_text("node_load1 0.5\n", "ascii")
    for path, reason in (
        (store / "x.prom", "nothing is written into a store"),
        (tmp_path / "x.txt", "expected a name that ends with .prom"),
        (other, "was not written by rocketspec"),
    ):
        done = verb("audit", store, "--quick", "--prometheus", path)
        assert (done.code, done.out) == (2, "")
        assert reason in done.err
    assert other.read_text("ascii") == "node_load1 0.5\n"
