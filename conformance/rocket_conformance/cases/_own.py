"""Directed cases of our own, beside the golden vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocket_conformance.cases._case import Case

__all__ = ["own_cases"]


def own_cases() -> list[Case]:
    """All of them, in the order of their clauses."""
    return []
