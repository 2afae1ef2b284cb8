"""Where compiled code and Numba's settings come from: only from a folder that is the user's alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOOP = """
import sys
import pyarrow as pa
from rocket_columnar import fast
fast.announce(print)
keys = pa.array(["AaTopic#Aa", "BBTopic#BB"])
with fast.forced(compiled=True):
    print(fast.hash_keys(keys).tolist())
print("numba" in sys.modules)
"""
FOLDER = "from rocket_columnar import fast; print(fast.cache_folder())"
HASHES = "[10606476, 10606476]"  # both keys have the hash code -10606476


def run(script: str, folder: Path, **variables: str) -> list[str]:
    """The lines that a script prints, started in a folder; it does not get the cache folder that this process has set for itself."""
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    home = {"HOME": str(folder), "XDG_CACHE_HOME": "", "LOCALAPPDATA": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=inherited | home | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_first_start_says_that_it_compiles_and_the_second_finds_the_code(tmp_path: Path) -> None:
    line = "compiling loops for large files; the compiled code is cached for later starts"
    assert run(LOOP, tmp_path) == [line, HASHES, "True"]
    code = {path: path.read_bytes() for path in files_in(tmp_path) if path.suffix in {".nbi", ".nbc"}}
    assert code
    assert run(LOOP, tmp_path) == [HASHES, "True"]
    assert {path: path.read_bytes() for path in code} == code


def test_a_cache_folder_of_the_users_choice_is_used(tmp_path: Path) -> None:
    run(LOOP, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "other"))
    assert files_in(tmp_path / "other")
    assert not list((tmp_path / ".cache").rglob("*.nbi"))


def test_settings_in_the_working_folder_are_not_read(tmp_path: Path) -> None:
    """With PyYAML, Numba reads them when it is imported, and loads code from the folder that they name."""
    modules, work, planted = tmp_path / "modules", tmp_path / "work", tmp_path / "planted"
    for folder in (modules, work, planted):
        folder.mkdir()
    (modules / "yaml.py").write_text(
        f"def safe_load(file):\n    print('settings are read')\n    return {{'cache_dir': {str(planted)!r}}}\n"
    )
    (work / ".numba_config.yaml").write_text(f"cache_dir: {planted}\n")
    path = {"PYTHONPATH": str(modules)}
    assert run("import numba; print(numba.config.CACHE_DIR)", work, **path) == [
        "settings are read",
        str(planted),
    ]
    line = ".numba_config.yaml in the working folder: loops are not compiled, which takes longer; use another folder"
    assert run(LOOP, work, **path) == [line, HASHES, "False"]
    loop = "from rocket_columnar.fast import compiled"
    with pytest.raises(AssertionError, match=r"UsageError: \.numba_config.yaml: in the working folder"):
        run(loop, work, **path)
    assert files_in(planted) == []


class TestCacheFolder:
    def test_it_is_made_for_the_user_alone(self, tmp_path: Path) -> None:
        (found,) = run(FOLDER, tmp_path)
        folder = tmp_path / ".cache" / "rocketspec" / "compiled"
        assert found.startswith(str(folder))
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_it_is_not_used_if_others_may_write_to_it(self, tmp_path: Path) -> None:
        folder = tmp_path / ".cache" / "rocketspec" / "compiled"
        folder.mkdir(parents=True)
        folder.chmod(0o770)
        assert run(FOLDER, tmp_path) == ["None"]
        folder.chmod(0o702)
        line = "compiling loops for large files, at each start: there is no cache folder that is the user's alone"
        assert run(LOOP, tmp_path) == [line, HASHES, "True"]
        assert files_in(tmp_path) == []

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
    def test_it_is_not_used_if_it_is_someone_elses(self, tmp_path: Path) -> None:
        folder = tmp_path / ".cache" / "rocketspec" / "compiled"
        folder.mkdir(parents=True, mode=0o700)
        os.chown(folder, 12345, 12345)
        assert run(FOLDER, tmp_path) == ["None"]

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / ".cache" / "rocketspec").mkdir(parents=True)
        (tmp_path / ".cache" / "rocketspec" / "compiled").symlink_to(tmp_path)
        assert run(FOLDER, tmp_path) == ["None"]

    def test_a_relative_variable_would_be_the_working_folder(self, tmp_path: Path) -> None:
        (found,) = run(FOLDER, tmp_path, XDG_CACHE_HOME="cache")
        assert found.startswith(str(tmp_path / ".cache" / "rocketspec"))
        assert run(FOLDER, tmp_path, HOME="home") == ["None"]
