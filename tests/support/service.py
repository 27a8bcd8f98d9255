"""The program as its users run it: commands with their output and exit code, and the service as a process."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType

from tests.support.forking import Forked
from tests.support.postgresql import in_memory

SCRIPT = Path(sys.executable).with_name("crm-gateway")
_START_SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Nothing of the surroundings but what processes need; the data folder lies in this folder.

    Workers give way to nobody: a test waits for what they do, and other tests have the processor meanwhile.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "CRM_DATA_DIR": str(folder / "data"), "CRM_WORKER_NICE": "0", **settings}


class Commands:
    """Runs commands, quickly: each in a process of its own, with the program loaded."""

    def run(self, folder: Path, *arguments: str, **settings: str) -> Outcome:
        """Run `crm-gateway` with these arguments and settings in the folder."""
        out, err = folder / "out", folder / "err"
        for file in (out, err):
            file.write_bytes(b"")
        code = Forked(arguments, folder, environment(folder, **settings), out, err).wait()
        return Outcome(code, out.read_text(), err.read_text())


@cache
def _migrated() -> Path:
    """A migrated file to copy: the migrations take as long as all the rest of a start."""
    folder = Path(tempfile.mkdtemp(prefix="crm-migrated-", dir=in_memory()))
    atexit.register(shutil.rmtree, folder)
    done = Commands().run(folder, "migrate")
    assert done.code == 0, done.err
    return folder / "data" / "crm.sqlite3"


def _prepare(file: Path) -> None:
    """Have a migrated database there, unless there is one.

    It appears whole and once: two that start at once on one folder would else copy over each other's database.
    """
    if not file.exists():
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent) as copy, suppress(FileExistsError):
            shutil.copyfile(_migrated(), copy.name)
            os.link(copy.name, file)  # the copy has its rights already: the owner alone reads it


def _processor_seconds(pid: int) -> float:
    after_the_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_the_name[11:13])) / os.sysconf("SC_CLK_TCK")


class Service:
    """`crm-gateway serve` on a free port; made once it has printed its address, ended when the block is left.

    It begins with the program loaded and a file of its own migrated, and runs its jobs itself, unless it is to start
    `afresh`, or starts further processes anyway.
    """

    def __init__(self, folder: Path, *arguments: str, afresh: bool = False, **settings: str) -> None:
        began = time.monotonic()
        self.log, self._printed = (folder / f"{name}-{time.monotonic_ns()}" for name in ("log", "printed"))
        words, surroundings = ["serve", *arguments], environment(folder, PORT="0") | settings
        self._process: Forked | subprocess.Popen[bytes]
        with self.log.open("wb") as log, self._printed.open("wb") as printed:
            if afresh or "--workers" in words or "WEB_CONCURRENCY" in settings:
                self._process = subprocess.Popen(
                    [SCRIPT, *words], cwd=folder, env=surroundings, stdout=printed, stderr=log
                )
            else:
                if "CRM_DATABASE_URL" not in settings and "--no-migrate" not in words:
                    _prepare(Path(surroundings["CRM_DATA_DIR"]) / "crm.sqlite3")
                within = {"CRM_WORKER_BESIDE": "0"}
                self._process = Forked(words, folder, within | surroundings, self._printed, self.log)
        self.banner = self._banner()
        self.seconds = time.monotonic() - began
        """From the command to the printed address."""
        self.work = _processor_seconds(self._process.pid)
        """What the processor had to do until then, in seconds: other work on the machine does not add to it."""
        self.address = self.banner[0].removeprefix("CRM gateway on ")

    def _banner(self) -> list[str]:
        end = time.monotonic() + _START_SECONDS
        while not (text := self._printed.read_text()).endswith("\n"):
            if self._process.poll() is not None or time.monotonic() > end:
                self._process.kill()
                self._process.wait()
                raise AssertionError(f"no address was printed: {self.log.read_text()}")
            time.sleep(0.005)
        return text.splitlines()

    @property
    def pid(self) -> int:
        return self._process.pid

    def value(self, name: str) -> str:
        """What the banner says under this name."""
        [line] = [line for line in self.banner if line.split()[:1] == [name]]
        return line.split()[1]

    def processes(self, what: str = "started") -> list[int]:
        """The server processes of which the log says this, in its order."""
        return [int(number) for number in re.findall(rf"server process {what}.* process=(\d+)", self.log.read_text())]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal; the exit code."""
        self._process.send_signal(number)
        return self._process.wait(60)

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
