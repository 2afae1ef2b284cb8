"""The verb `audit`: a store's files cross-checked."""

from rocketspec.verbs.audit.findings_view import print_causes, summary
from rocketspec.verbs.audit.restart_view import show as show_restart
from rocketspec.verbs.audit.verb import audit

__all__ = ["audit", "print_causes", "show_restart", "summary"]
