"""Prints the command that runs the real store: `python -m rocket_conformance.rocketmq VERSION [JARS]`."""

import sys

from rocket_conformance.rocketmq.jars import main

sys.exit(main(sys.argv[1:]))
