"""Loops that Numba compiles, a module for each kind of work; importing one loads Numba, so do it in a function, for much input."""
