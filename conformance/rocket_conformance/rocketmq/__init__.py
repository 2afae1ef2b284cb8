"""The real RocketMQ: its jars and the commands that run them, and what its releases do differently."""
# pyright: reportUnusedImport=false

from rocket_conformance.rocketmq.jars import (
    ORACLE_VERSION,
    RELEASES,
    WORKLOAD,
    Differs,
    First,
    JarSet,
    JarUnavailableError,
    Release,
    Survey,
    command,
    difference_of,
    read_survey,
    releases_alike,
    resolve,
    short_value,
)
