"""Flags for JVMs that end before a thorough JIT and a parallel collector pay."""

from typing import Final

SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
COMPILER: Final = tuple(f"-J{flag}" for flag in SHORT_LIVED.split())
"""The same for `javac`."""
