"""An adapter as a child process, spoken to line by line: what the tests of the ready adapters drive."""

import json
import subprocess
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class Adapter:
    """The adapter as a child process."""

    def __init__(self, arguments: list[str]) -> None:
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def tell(self, message: Json, end: bytes = b"\n") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + end)
        self.process.stdin.flush()

    def hear(self) -> Json:
        assert self.process.stdout is not None
        answer: Json = json.loads(self.process.stdout.readline())
        return answer

    def hello(self) -> Json:
        self.tell({"cmd": "hello", "protocol": 1, "suite": "test"})
        return self.hear()

    def case(self, directory: Path, *ops: Json) -> Json:
        self.tell({"cmd": "case", "id": "c", "dir": str(directory), "ops": ops})
        return self.hear()

    def results(self, directory: Path, *ops: Json) -> list[Json]:
        results: list[Json] = self.case(directory, *ops)["results"]
        return results

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        return self.process.returncode


def held_files(pid: int, directory: Path) -> list[str]:
    """Files below `directory` that the process has mapped or open; none where the system has no /proc."""
    process = Path("/proc", str(pid))
    if not process.is_dir():
        return []
    mapped = [line.split()[-1] for line in (process / "maps").read_text().splitlines()]
    opened = [str(path.readlink()) for path in (process / "fd").iterdir() if path.is_symlink()]
    return [path for path in mapped + opened if path.startswith(str(directory))]
