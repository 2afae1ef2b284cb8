"""A seeded set of messages, sent through the real client to any broker, and a record of what it acknowledged and answered."""
# pyright: reportUnusedImport=false

from rocket_conformance.workload.client import (
    Client,
    ClientError,
    Manifest,
    Sent,
    read_manifest,
    require_name_server,
)
from rocket_conformance.workload.crashes import Broker, run_crashes, send_for_the_bound
from rocket_conformance.workload.running import make_actions, run_workload
