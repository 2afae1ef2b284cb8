"""Transports: send cases to an object in this process, to a child process, or to several."""
# pyright: reportUnusedImport=false

from rocket_conformance.transport._child import ChildTransport, open_command, open_jar
from rocket_conformance.transport._transport import (
    AdapterError,
    Event,
    Handler,
    InterruptedBySignal,
    Transport,
    no_orphans,
    open_handler,
    stop_on_signals,
)
