"""Generators of this repository's own pages, tables and matrices: run from a checkout, not in the wheel."""
