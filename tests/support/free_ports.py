"""Ports for servers that tests start, stop and start again."""

import random
import socket

# Below the range from which systems take ports for outgoing connections (32768 on Linux): a connection could otherwise
# hold a server's port while the server is down.
_LOWEST, _HIGHEST = 10_240, 32_000


def free_port(*beside: int) -> int:
    """A port that is free, with those at these distances from it.

    Args:
        beside: a broker takes the ports at -2 (fast) and +1 (HA) as well.
    """
    draw = random.SystemRandom()
    while True:
        port = draw.randint(_LOWEST, _HIGHEST)
        if all(_is_free(port + distance) for distance in (0, *beside)):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as taken:
        try:
            taken.bind(("", port))
        except OSError:
            return False
        return True
