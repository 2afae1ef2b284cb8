"""Pytest plugin: runs the suite against `--rocketspec-adapter`."""
