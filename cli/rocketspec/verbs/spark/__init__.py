"""The verbs of `spark`: the same jobs on Spark, for many stores at once."""

from rocketspec.verbs.spark.verbs import GROUP

__all__ = ["GROUP"]
