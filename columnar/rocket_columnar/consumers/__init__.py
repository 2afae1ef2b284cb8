"""Consumer groups, delayed messages and transactions of a store, and what is wrong with them."""

from rocket_columnar.consumers.config_findings import config_findings
from rocket_columnar.consumers.progress import DelayLevel, Failed, GroupLag, OpenHalf, Progress, progress

__all__ = ["DelayLevel", "Failed", "GroupLag", "OpenHalf", "Progress", "config_findings", "progress"]
