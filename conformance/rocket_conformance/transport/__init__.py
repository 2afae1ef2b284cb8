"""Transports: send cases to an object in this process, to a child process, or to several."""
# pyright: reportUnusedImport=false

from rocket_conformance.transport._child import ChildTransport, open_command, open_handler, open_jar
from rocket_conformance.transport._process import Event, InterruptedBySignal, no_orphans, stop_on_signals
from rocket_conformance.transport._transport import AdapterError, Handler, Transport
