"""The example pages, served as their readers serve them: from source, by their own tools."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.node import node_for


@contextmanager
def served(folder: Path, gateway: str, *checks: Sequence[str]) -> Iterator[str]:
    """The page's address, in front of the gateway's; its checks, commands of npm, have passed before."""
    node_for(folder, "the page was not looked at")
    for check in checks:
        subprocess.run(check, cwd=folder, check=True, timeout=300)
    serving = subprocess.Popen(
        ["npm", "run", "dev"],
        cwd=folder,
        env=os.environ | {"CRM_URL": gateway, "PORT": "0", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert serving.stdout is not None
    try:
        yield next(found[0] for line in serving.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
    finally:
        os.killpg(serving.pid, signal.SIGTERM)
        serving.wait()
        serving.stdout.close()
