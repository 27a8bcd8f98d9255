"""Opens the sockets where commands listen."""

import socket

from gateway.commands.outcome import FAILED, fail


def listen(host: str, port: int) -> socket.socket:
    """The socket, bound before anything is written, so that a taken port changes nothing."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # of two that bind to a free port at once, only one may listen: find out now
    except OSError as error:
        fail(f"Cannot listen on {host} port {port}: {error.strerror}", FAILED)
    listening.set_inheritable(True)
    return listening


def authority(address: tuple[str, int]) -> str:
    """Host and port as an address has them."""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
