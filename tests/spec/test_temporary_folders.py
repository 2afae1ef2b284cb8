"""Temporary folders: private from the first moment, and gone at the end."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from rocket_spec.temporary_folders import owned_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes of files are POSIX")


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_its_user_can_enter_it(umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask, and already when it is made."""
    modes: list[int] = []
    real = tempfile.mkdtemp

    def made(*args: str, **options: str) -> str:
        path = real(*args, **options)
        modes.append(stat.S_IMODE(os.stat(path).st_mode))  # noqa: PTH116 - as mkdtemp gives it
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    before = os.umask(umask)
    try:
        with owned_folder(tmp_path, prefix="x-") as folder:
            assert modes == [0o700]
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    assert list(tmp_path.iterdir()) == []


def test_the_scratch_of_conform_is_private(tmp_path: Path) -> None:
    """As an adapter sees it: the directory of its case is below a folder of mode 0700."""
    program = (
        "import json, os, stat, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message['cmd'] == 'hello':\n"
        "        print(json.dumps({'protocol': 1, 'name': 'x', 'version': '1', 'language': 'python',\n"
        "                          'ops': ['key.hash'], 'geometry': 'any', 'features': []}), flush=True)\n"
        "    elif message['cmd'] == 'case':\n"
        "        place, modes = message['dir'], []\n"
        "        while place != os.path.dirname(place) and place != sys.argv[1]:\n"
        "            modes.append(oct(stat.S_IMODE(os.stat(place).st_mode)))\n"
        "            place = os.path.dirname(place)\n"
        "        print(json.dumps(modes), file=sys.stderr, flush=True)\n"
        "        print(json.dumps({'id': message['id'], 'results': [{'hash': 0}] * len(message['ops'])}), flush=True)\n"
        "    else:\n"
        "        break\n"
    )
    adapter = tmp_path / "adapter.py"
    adapter.write_text(program, encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o755)
    seen = tmp_path / "seen"
    wrapped = f"{sys.executable} {adapter} {scratch} 2>>{seen}"
    subprocess.run(
        [
            sys.executable, "-m", "rocketspec", "conform", "--select", "IDX-HASH-1/*", "--scratch", str(scratch),
            "--", "/bin/sh", "-c", wrapped,
        ],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    lines = seen.read_text("utf-8").splitlines()
    assert lines
    assert all("0o700" in line for line in lines)
    assert list(scratch.iterdir()) == []
