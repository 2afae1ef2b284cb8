"""Python data sources: `spark.read.format("rocketmq-index").load(path)`, one class for each table."""

from rocket_spark.sources.error_reason import reason
from rocket_spark.sources.formats import (
    SOURCES,
    CheckpointSource,
    CommitLogSource,
    ConsumeQueueExtSource,
    ConsumeQueueSource,
    IndexEntriesSource,
    IndexHeadersSource,
    register,
)

__all__ = [
    "SOURCES",
    "CheckpointSource",
    "CommitLogSource",
    "ConsumeQueueExtSource",
    "ConsumeQueueSource",
    "IndexEntriesSource",
    "IndexHeadersSource",
    "reason",
    "register",
]
