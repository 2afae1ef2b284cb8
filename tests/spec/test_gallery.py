"""The schemas in the form of the public gallery: ids, absolute imports and references, samples; they still compile."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import rocket_golden
from rocket_spec.clauses import clauses
from rocket_spec.errors import UsageError

from tools.make_gallery import main, make_gallery
from tools.make_readers import compiler

URL = "https://example.org/rocketspec/SPEC.md"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("gallery") / "out"
    store = rocket_golden.open_store("ext", tmp_path_factory.mktemp("store"))
    make_gallery(target, URL, store)
    return target


def test_references_lead_to_clauses(gallery: Path) -> None:
    for path in (gallery / "database").iterdir():
        references = re.findall(r"doc-ref: (.*)", path.read_text("utf-8"))
        assert references
        for reference in references:
            match = re.fullmatch(rf"'{re.escape(URL)}#(\S+) (\S+)'", reference)
            assert match is not None, reference
            assert match[2] in clauses()
            assert match[1] == match[2].lower()


def test_samples_are_files_that_a_broker_wrote(gallery: Path, tmp_path: Path) -> None:
    store = rocket_golden.open_store("ext", tmp_path)
    written = {path.read_bytes() for path in store.rglob("*") if path.is_file()}
    samples = [path for path in (gallery / "samples").rglob("*") if path.is_file()]
    assert {path.parent.name for path in samples} == {
        "rocketmq_checkpoint",
        "rocketmq_commitlog",
        "rocketmq_consumequeue",
        "rocketmq_consumequeue_ext",
        "rocketmq_indexfile",
    }
    assert all(path.read_bytes() in written for path in samples)


@pytest.mark.node
def test_it_compiles(node: str, gallery: Path, tmp_path: Path) -> None:
    assert node
    command = ["node", "targets.mjs", str(gallery / "database"), str(tmp_path), "python", "java"]
    done = subprocess.run(command, cwd=compiler()[1], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["failed"] == []
    assert (tmp_path / "java/RocketmqDledger.java").exists()


def test_a_directory_with_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").touch()
    with pytest.raises(UsageError, match="is not empty"):
        make_gallery(tmp_path, URL)
    assert main([str(tmp_path), "--reference", URL]) == 2
    assert capsys.readouterr().err == f"{tmp_path}: is not empty\n"
