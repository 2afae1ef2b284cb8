"""Transports: send cases to an object in this process, to a child process, or to several."""
# pyright: reportUnusedImport=false

from rocket_conformance.transport._descendants import no_orphans
from rocket_conformance.transport._in_process import Handler
from rocket_conformance.transport._job import AdapterError, Answered, Failed, Job, Reply, Transport
from rocket_conformance.transport._process import LIVE, Event, Process
from rocket_conformance.transport._session import open_command, open_handler, open_jar
from rocket_conformance.transport._signals import InterruptedBySignal, stop_on_signals
