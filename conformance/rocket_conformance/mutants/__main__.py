"""A wrong implementation as an adapter: `python -m rocket_conformance.mutants NAME`."""

import sys

from rocket_conformance.mutants import CATALOGUE, Misbehaving
from rocket_conformance.mutants._impostors import serve


def main() -> None:
    """Serves the one that the argument names; exit code 2 where there is none."""
    found = [item for item in CATALOGUE if [item.name] == sys.argv[1:]]
    if not found:
        sys.exit("usage: python -m rocket_conformance.mutants NAME; `rocketspec mutants --list` names them")
    (item,) = found
    serve(item.handler(), item.first if isinstance(item, Misbehaving) else None)


if __name__ == "__main__":
    main()
