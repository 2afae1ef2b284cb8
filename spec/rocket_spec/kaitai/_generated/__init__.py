"""Readers and stubs that `python -m rocket_spec.make_readers` made; do not edit."""
