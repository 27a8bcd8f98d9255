"""The command line: `crm-gateway`, or `python -m gateway`. Data goes to stdout, everything else to stderr."""

import gc


def main() -> None:
    """Load the command that is named, and run it.

    What a command imports stays for good: a fifth of a start went into looking through it for garbage. One that goes on
    for longer calls `outcome.loaded` once it has what it needs.
    """
    gc.disable()
    from gateway.commands.line import run

    run()
