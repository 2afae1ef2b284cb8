"""Readers and stubs that `python -m tools.make_readers` made; do not edit."""
