"""The command `rocketspec` and `python -m rocketspec`.

Nothing else is imported before an interrupt is handled, and before the working directory is off the path of imports.
"""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # `python -m` puts the working directory there, which may be a store that brings modules


def main() -> None:
    """Runs the command, and ends with SystemExit."""
    try:
        from rocketspec.command import run_command

        status = run_command(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    raise SystemExit(status)


def run() -> None:
    """Runs the command as a process of its own, which may have been started with closed streams."""
    import gc
    import os
    import signal

    gc.set_threshold(200_000)  # a start makes 90,000 objects that all stay
    for ending in {"SIGTERM", "SIGHUP"} & signal.Signals.__members__.keys():
        if signal.getsignal(signal.Signals[ending]) is signal.SIG_DFL:  # ignored under nohup
            signal.signal(signal.Signals[ending], signal.default_int_handler)  # unfinished output is removed
    for number, name, mode in (0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"):
        if getattr(sys, name) is None:
            # The lowest free number is taken, and those below are open.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
    try:
        main()
    finally:
        gc.freeze()  # at the end Python would look through all that is left, three times


if __name__ == "__main__":
    run()
