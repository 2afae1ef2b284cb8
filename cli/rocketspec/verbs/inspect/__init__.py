"""The verb `inspect`: what a store, a directory or a file contains."""

from rocketspec.verbs.inspect.verb import inspect

__all__ = ["inspect"]
