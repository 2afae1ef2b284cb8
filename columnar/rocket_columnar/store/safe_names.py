"""Topics and queues as paths: what may become one."""

import re
from typing import Final

_SAFE: Final = re.compile(r"[%|a-zA-Z0-9_-]{1,255}", re.ASCII)


def is_safe(topic: str) -> bool:
    """Whether a topic can be a directory's name: what brokers take as one, at most 255 long."""
    return _SAFE.fullmatch(topic) is not None
