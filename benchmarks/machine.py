"""The machine on which the figures were measured, without anything that names the machine."""

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path


def _cpu() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    return match[1] if match else platform.machine()


def _java() -> str:
    try:
        text = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return "none"
    match = re.search(r'version "([^"]+)"', text)
    return match[1] if match else "of an unknown version"


def describe() -> str:
    """CPU, memory, and versions of what took part, a line of Markdown each."""
    packages = ("numpy", "numba", "pyarrow")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts = {
        "CPU": f"{_cpu()}, {os.cpu_count()} cores",
        "Memory": f"{memory / (1 << 30):.0f} GiB",
        "Load average before the run": f"{os.getloadavg()[0]:.1f}",
        "System": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "Packages": ", ".join(f"{name} {version(name)}" for name in packages),
        "Java": _java(),
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())
