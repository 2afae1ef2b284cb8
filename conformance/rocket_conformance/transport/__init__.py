"""How cases reach an implementation: an object in this process, a child process, or several."""

from rocket_conformance.transport._child import ChildTransport
from rocket_conformance.transport._descendants import no_orphans
from rocket_conformance.transport._in_process import Handler, InProcessTransport
from rocket_conformance.transport._job import AdapterError, Answered, Failed, Job, Reply, Transport
from rocket_conformance.transport._pool import PoolTransport
from rocket_conformance.transport._process import LIVE, Event, Process

__all__ = [
    "LIVE",
    "AdapterError",
    "Answered",
    "ChildTransport",
    "Event",
    "Failed",
    "Handler",
    "InProcessTransport",
    "Job",
    "PoolTransport",
    "Process",
    "Reply",
    "Transport",
    "no_orphans",
]
