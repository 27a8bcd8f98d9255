"""The process that supervises several: `python -m gateway.server.supervising N`, which `serve` becomes (decision 1192).

It reads no settings and loads neither the application nor the database.
"""

import pickle
import signal
import socket
import sys
import threading
import time
from functools import partial
from typing import Final

from gateway.adapters import lean  # noqa: F401  # before anybody loads structlog
from gateway.observability import logs
from gateway.observability.shared_folder import adding_up
from gateway.server.config import Config
from gateway.server.handover import ENDS, Handover, taken
from gateway.server.serving import Processes

_START_SECONDS: Final = 60


def supervise(handover: Handover) -> None:
    """Have the processes until this one is told to end; the first that answers lets the addresses be printed."""
    logs.configure(handover.logs)
    listening = [socket.socket(fileno=number) for number in handover.sockets]
    config = Config(partial(pickle.loads, handover.settings), demo=handover.demo, workers=handover.workers)
    address: tuple[str, int] = listening[0].getsockname()[:2]
    processes = Processes(config, listening)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    with adding_up():
        threading.Thread(target=_announce, args=(address, handover), daemon=True).start()
        processes.run()


def _announce(address: tuple[str, int], handover: Handover) -> None:
    """Print the words once somebody answers: the one question waits at the socket until then."""
    end = time.monotonic() + _START_SECONDS
    request = f"GET /health HTTP/1.1\r\nHost: {handover.authority}\r\nConnection: close\r\n\r\n".encode()
    while (left := end - time.monotonic()) > 0:
        try:
            with socket.create_connection(address, timeout=left) as connection:
                connection.sendall(request)
                if connection.recv(12).endswith(b" 200"):
                    print(handover.words, flush=True)
                    return
        except OSError:
            pass
        time.sleep(0.1)


if __name__ == "__main__":
    supervise(taken(int(sys.argv[1])))
