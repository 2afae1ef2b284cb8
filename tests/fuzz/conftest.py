"""An option of the fuzzer."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--fuzz N`: as many new inputs for each target."""
    parser.addoption("--fuzz", type=int, default=5, metavar="N", help="new inputs for each target")
