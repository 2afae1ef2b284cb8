"""A run: every selected case and property against one implementation, to a whole report."""

from rocket_conformance.running.execution import Options
from rocket_conformance.running.runner import run, run_planned

__all__ = ["Options", "run", "run_planned"]
