"""How cases reach an implementation: an object in this process, or a child process."""

from rocket_conformance.transport._child import ChildTransport
from rocket_conformance.transport._in_process import Handler, InProcessTransport
from rocket_conformance.transport._job import AdapterError, Answered, Failed, Job, Reply, Transport

__all__ = [
    "AdapterError",
    "Answered",
    "ChildTransport",
    "Failed",
    "Handler",
    "InProcessTransport",
    "Job",
    "Reply",
    "Transport",
]
