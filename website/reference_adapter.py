"""The whole reference as an adapter: `rocketspec conform -- python website/reference_adapter.py`."""

import json
import sys

from rocket_conformance.reference_adapter import ReferenceAdapter


def main() -> None:
    """Answers one message a line until bye."""
    adapter = ReferenceAdapter()
    for line in sys.stdin.buffer:
        answer = adapter.handle(json.loads(line))
        if answer is None:
            return
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
