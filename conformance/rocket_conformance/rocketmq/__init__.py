"""The real RocketMQ: its jars and the commands that run them, and what its releases do differently."""
# pyright: reportUnusedImport=false

from rocket_conformance.rocketmq.jars import (
    ORACLE_VERSION,
    WORKLOAD,
    JarSet,
    JarUnavailableError,
    command,
    resolve,
)
from rocket_conformance.rocketmq.releases import (
    RELEASES,
    Differs,
    First,
    Release,
    Survey,
    difference_of,
    read_survey,
    releases_alike,
    short_value,
)
