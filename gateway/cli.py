"""The command line: `crm-gateway`, or `python -m gateway`. Data goes to stdout, everything else to stderr."""

import gc


def main() -> None:
    """Load the commands, and run the one that is named.

    What the commands import stays for good: a fifth of a start went into looking through it for garbage.
    """
    gc.disable()
    from gateway.commands.line import run

    gc.freeze()
    gc.enable()
    run()
