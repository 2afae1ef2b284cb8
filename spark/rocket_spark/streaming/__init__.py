"""Streams that follow a store while a broker writes it: `readStream.format("rocketmq-commitlog")`."""

from rocket_spark.streaming.reader import StoreStreamReader

__all__ = ["StoreStreamReader"]
