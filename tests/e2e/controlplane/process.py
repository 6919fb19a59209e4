"""Start a program with its output in a file, wait until it is ready, and always end it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_POLL_S = 0.05
_GRACE_S = 5.0
_TAIL_CHARACTERS = 4000


class ProcessDiedError(AssertionError):
    """A program ended, or did not become ready, while a test needed it."""


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Probe:
    """A URL that answers 200 once the program is ready."""

    url: str
    ca: Path | None = None
    token: str | None = None

    def answers(self) -> bool:
        request = urllib.request.Request(self.url)  # noqa: S310 (a loopback URL of ours)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        # Components that make their own certificate have no CA file; it is loopback.
        trust = ssl.create_default_context(cafile=self.ca)
        if self.ca is None:
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=10, context=trust) as answer:  # noqa: S310
                return bool(answer.status == HTTPStatus.OK)
        except (urllib.error.URLError, OSError):
            return False


class Process:
    """A program that runs while its block does, and never longer."""

    def __init__(self, name: str, command: Sequence[str], log: Path, probe: Probe) -> None:
        self.name = name
        self.log = log
        self._probe = probe
        # Should pytest itself be killed, the kernel ends the program too; it goes by the thread,
        # so start programs from the main one.
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self._command = [*guard, *command]
        self.options: tuple[str, ...] = ()
        """Added to the command at the next start."""
        self.grace = _GRACE_S
        """Seconds that it has to end well."""
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program, for the first time or again; its log goes on."""
        with self.log.open("a") as output:
            self._popen = subprocess.Popen(
                [*self._command, *self.options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def wait_ready(self, timeout: float = 180.0) -> None:
        """Return once the probe answers; raise with the end of the log otherwise."""
        deadline = time.monotonic() + timeout
        while not self._probe.answers():
            self.check_alive()
            if time.monotonic() > deadline:
                raise ProcessDiedError(f"{self.name} not ready in {timeout} s\n{tail(self.log)}")
            time.sleep(_POLL_S)  # a program that starts offers nothing to await

    async def ended(self) -> None:
        """Return once the program has ended."""
        if self._popen is None or self._popen.poll() is not None:
            return
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        handle = os.pidfd_open(self._popen.pid)
        loop.add_reader(handle, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        self._popen.wait()

    def check_alive(self) -> None:
        code = self._popen and self._popen.poll()
        if self._popen is None or code is not None:
            raise ProcessDiedError(f"{self.name} ended: {code}\n{tail(self.log)}")

    @property
    def pid(self) -> int:
        self.check_alive()
        assert self._popen is not None
        return self._popen.pid

    def cpu_seconds(self) -> float:
        """Return the processor time that the running program has used so far."""
        # The name, in brackets, may hold spaces; utime and stime are the 14th and 15th field.
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        """Ask the program to end, then make it; returns its exit code."""
        if self._popen is None:
            return 0
        self._popen.terminate()
        try:
            return self._popen.wait(self.grace)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            return self._popen.wait()

    def kill(self) -> None:
        """End the program as a crash would."""
        self.check_alive()
        if self._popen is not None:
            self._popen.kill()
            self._popen.wait()


def tail(log: Path) -> str:
    """Return the end of what a program has written."""
    return f"{log}\n{log.read_text(errors='replace')[-_TAIL_CHARACTERS:]}"
