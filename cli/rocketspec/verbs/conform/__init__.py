"""The verb `conform`: the suite, run against an implementation or a store."""

from rocketspec.verbs.conform.verb import register

__all__ = ["register"]
