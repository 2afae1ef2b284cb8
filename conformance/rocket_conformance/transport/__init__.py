"""How cases reach an implementation: an object in this process, a child process, or several."""

from rocket_conformance.transport._child import ChildTransport
from rocket_conformance.transport._in_process import Handler, InProcessTransport
from rocket_conformance.transport._job import AdapterError, Answered, Failed, Job, Reply, Transport
from rocket_conformance.transport._pool import PoolTransport

__all__ = [
    "AdapterError",
    "Answered",
    "ChildTransport",
    "Failed",
    "Handler",
    "InProcessTransport",
    "Job",
    "PoolTransport",
    "Reply",
    "Transport",
]
