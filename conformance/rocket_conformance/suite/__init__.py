"""The conformance suite as pytest tests; `rocket_conformance.pytest_plugin` says how to run it."""
