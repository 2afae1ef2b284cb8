"""The directed vectors, a module per part of the index file."""

from generator.vectors.directed import hashing, header, matching, opening, putting, selecting, wrapping

__all__ = ["hashing", "header", "matching", "opening", "putting", "selecting", "wrapping"]
