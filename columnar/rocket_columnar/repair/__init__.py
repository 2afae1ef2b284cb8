"""Repairs a store in place: the one part of the engine that writes to a store."""

from rocket_columnar.repair.outlook import Outlook
from rocket_columnar.repair.store_repair import Repaired, RepairPlan, Target, plan_repair, repair, undo

__all__ = ["Outlook", "RepairPlan", "Repaired", "Target", "plan_repair", "repair", "undo"]
