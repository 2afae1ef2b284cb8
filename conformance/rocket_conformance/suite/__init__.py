"""The conformance suite as pytest tests; `rocket_conformance.pytest_plugin` explains how to run it."""
