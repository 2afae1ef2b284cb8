"""Repairs a store in place: the one part of the engine that writes to a store."""

from rocket_columnar.repair.choice import Outlook, Target
from rocket_columnar.repair.folder import Journal, parse_journal
from rocket_columnar.repair.store_repair import Repaired, RepairPlan, plan_repair, repair, undo

__all__ = [
    "Journal",
    "Outlook",
    "RepairPlan",
    "Repaired",
    "Target",
    "parse_journal",
    "plan_repair",
    "repair",
    "undo",
]
