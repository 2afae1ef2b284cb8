"""The verb `conform`: the suite, run against an implementation or a store."""

from rocketspec.verbs.conform.verb import register, show_report

__all__ = ["register", "show_report"]
