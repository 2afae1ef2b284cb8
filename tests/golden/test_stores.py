"""The golden data itself: as recorded, tampering noticed, small, complete, and safe to unpack."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from golden_truth import lines
from jsonschema import Draft202012Validator
from rocket_golden import UnknownStoreError, manifest, open_store, stores, verify, zstd

PACKAGE = Path(rocket_golden.__file__).parent
README = Path(__file__).parents[2] / "golden" / "README.md"
LIMIT = 6 << 20


def schema(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((PACKAGE / name).read_text("utf-8"))
    return data


def test_all_is_as_recorded() -> None:
    assert verify() == []


def test_manifest_keeps_to_its_schema() -> None:
    Draft202012Validator(schema("manifest.schema.json")).validate(schema("manifest.json"))


def test_stores_are_there_and_small() -> None:
    assert {"mixed", "default-geometry", "ext", "small-roll"} <= set(stores())
    assert {"expired", "killed"} <= set(stores(unclean=True))
    found = manifest().stores.values()
    assert sum(store.archive.size + store.truth.size for store in found) < LIMIT


def test_truth_keeps_to_its_schema(store_name: str) -> None:
    defs = schema("truth.schema.json")["$defs"]
    for kind, found in lines(store_name).items():
        validator = Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": defs})
        fields = set(defs[kind]["required"])
        assert all(set(line) == fields for line in found)
        for line in found[:: max(1, len(found) // 200)]:
            validator.validate(line)


def test_readme_lists_every_field_of_every_line() -> None:
    listed = {
        part.split("\n", 1)[0]: re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
        for part in README.read_text("utf-8").split("\n### ")[1:]
    }
    defs = schema("truth.schema.json")["$defs"]
    assert listed == {
        kind: [name for name in rule["properties"] if name != "type"]
        for kind, rule in defs.items()
        if "properties" in rule
    }


def test_truth_covers_every_file(store_name: str) -> None:
    files = {file.file for file in manifest().stores[store_name].files if file.kind != "other"}
    told = {line["file"] for found in lines(store_name).values() for line in found if "file" in line}
    told -= {line["file"] for line in lines(store_name)["deleted"]}
    assert told == files


def test_zeros_become_holes(golden_store: Callable[[str], Path]) -> None:
    (index,) = (golden_store("default-geometry") / "index").iterdir()
    assert index.stat().st_size == 420_000_040
    assert index.stat().st_blocks * 512 < 64 << 20


def test_an_unknown_store_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownStoreError, match="mixed"):
        open_store("nope", tmp_path)


def test_unpacking_overwrites_nothing(tmp_path: Path) -> None:
    open_store("ext", tmp_path)
    with pytest.raises(FileExistsError):
        open_store("ext", tmp_path)


def test_no_store_names_the_machine_that_made_it(store_name: str) -> None:
    records = lines(store_name)["log_record"]
    hosts = {record[host].rpartition(":")[0] for record in records for host in ("born_host", "store_host")}
    assert hosts <= {"127.0.0.1", "[::1]", "[2001:db8::7]"}
    unique = {record["uniq_key"].lstrip("0") for record in records if record["uniq_key"] is not None}
    assert {key[:8] for key in unique} == {"7F000001"}


# What the scenarios are for is really in the stores.


# Tampering, in a copy of the package that another interpreter imports.


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package with its data, without the large store."""
    target = tmp_path / "copy" / "rocket_golden"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__", "default-geometry.*"))
    data = json.loads((target / "manifest.json").read_text("utf-8"))
    del data["stores"]["default-geometry"]
    (target / "manifest.json").write_text(json.dumps(data), "utf-8")
    return target


def run(copy: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
    script = f"import rocket_golden, sys; assert rocket_golden.__path__ == [{str(copy)!r}]\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=copy, capture_output=True, text=True, check=True
    )
    return done.stdout


def problems(copy: Path) -> list[str]:
    found: list[str] = json.loads(run(copy, "import json; print(json.dumps(rocket_golden.verify()))"))
    return found


def test_verify_notices_every_kind_of_tampering(copy: Path) -> None:
    assert problems(copy) == []
    archive = copy / "stores" / "mixed.tar.zst"
    data = bytearray(archive.read_bytes())
    data[1000] ^= 1
    archive.write_bytes(data)
    short = copy / "stores" / "ext.truth.jsonl.zst"
    short.write_bytes(short.read_bytes()[:-1])
    (copy / "stores" / "small-roll.truth.jsonl.zst").unlink()
    (copy / "stores" / "stray").touch()
    (copy / "vectors" / "store" / "stray.json").touch()
    recorded = json.loads((copy / "manifest.json").read_text("utf-8"))
    recorded["stores"]["small-roll"]["files"][0]["sha256"] = "0" * 64
    recorded["stores"]["mixed"]["truth_lines"]["dispatch"] += 1
    (copy / "manifest.json").write_text(json.dumps(recorded), "utf-8")
    found = problems(copy)
    expected = (
        "ext.truth.jsonl.zst: found",
        "mixed.tar.zst: found SHA-256",
        "mixed.truth.jsonl.zst: found lines",
        "small-roll.tar.zst: checkpoint: found SHA-256",
        "small-roll.truth.jsonl.zst",
        "stores/stray: not in the manifest",
        "vectors/store/stray.json: not in the manifest",
    )
    assert len(found) == len(expected)
    assert all(any(text in problem for problem in found) for text in expected), found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside", tarfile.REGTYPE),
        ("/outside", tarfile.REGTYPE),
        ("a/../../outside", tarfile.REGTYPE),
        ("..\\outside", tarfile.REGTYPE),
        ("C:outside", tarfile.REGTYPE),
        ("link", tarfile.SYMTYPE),
        ("link", tarfile.LNKTYPE),
        ("pipe", tarfile.FIFOTYPE),
    ],
)
def test_an_archive_cannot_write_outside_its_directory(
    copy: Path, tmp_path: Path, name: str, kind: bytes
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        member = tarfile.TarInfo(name)
        member.type = kind
        member.linkname = "../../outside"
        tar.addfile(member)
    data = zstd.compress(packed.getvalue())
    (copy / "stores" / "ext.tar.zst").write_bytes(data)
    recorded = json.loads((copy / "manifest.json").read_text("utf-8"))
    recorded["stores"]["ext"]["archive"].update(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    (copy / "manifest.json").write_text(json.dumps(recorded), "utf-8")
    target = tmp_path / "target" / "inside"
    refused = run(
        copy,
        f"try: rocket_golden.open_store('ext', {str(target)!r})\n"
        "except rocket_golden.DamagedError as error: print(error)",
    )
    assert repr(name) in refused
    assert [path.name for path in (tmp_path / "target").rglob("*") if not path.is_dir()] == []


def test_a_manifest_that_is_none_is_said_to_be_none(copy: Path) -> None:
    for text in (
        "{",
        "[]",
        "{}",
        '{"rocketspec_golden": 2}',
        '{"rocketspec_golden": 1, "stores": {"a": {}}}',
    ):
        (copy / "manifest.json").write_text(text, "utf-8")
        said = run(
            copy, "try: rocket_golden.stores()\nexcept rocket_golden.DamagedError as error: print(error)"
        )
        assert said.startswith("manifest.json: found "), text
