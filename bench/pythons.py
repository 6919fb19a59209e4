"""Times `make run` and `make test` with the Pythons of Debian 12, 13 and testing, from nothing.

Each runs in a Debian of its own (mmdebstrap, as root), in a fresh clone, with no package cached. Of
this machine they have the network, and how pip reaches its index.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from bench.machine import revision
from bench.output import add_files, put_out_measured
from bench.tables import table

WITHIN = 120.0
"""Seconds until `make run` answers, or has ended."""
READY = "http://127.0.0.1:10281/readyz"
PROJECT = "project"
"""The folder of the clone, at the root of each Debian."""
PACKAGES = "python3-venv,make,git,ca-certificates,gcc"
HOST_FILES = ("/etc/pip.conf", "/etc/resolv.conf", os.environ.get("SSL_CERT_FILE", ""))


class Taken(NamedTuple):
    suite: str
    python: str
    run: str
    test: str
    seconds: float


def _debian(suite: str, folder: Path) -> None:
    command = ["mmdebstrap", "--mode=root", "--variant=apt", f"--include={PACKAGES}"]
    # That of testing is made anew each day, and a mirror may be late.
    valid = '--aptopt=Acquire::Check-Valid-Until "false"'
    where = [suite, str(folder), "http://deb.debian.org/debian"]
    subprocess.run([*command, valid, *where], check=True, capture_output=True)
    for file in HOST_FILES:
        if Path(file).is_file():
            to = folder / file.lstrip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
    clone = ["git", "clone", "--quiet", ".", str(folder / PROJECT)]
    subprocess.run(clone, check=True)


def _inside(folder: Path, command: str) -> list[str]:
    """Return what runs a command in the folder of the project there; no mount outlives it."""
    mounts = (
        'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev"'
        ' && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"'
    )
    there = f"cd /{PROJECT} && {command}"
    chroot = f'exec chroot "$0" env -i HOME=/tmp LANG=C.UTF-8 PATH="$PATH" sh -c "{there}"'
    entered = ["unshare", "--mount", "--pid", "--kill-child", "sh", "-c"]
    return [*entered, f"{mounts} && {chroot}", str(folder)]


def _run(folder: Path) -> str:
    """Say after how many seconds `make run` answers, or why it does not."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(_inside(folder, "make run"), stdout=said, stderr=said)
        try:
            while process.poll() is None and time.monotonic() < start + WITHIN:
                try:
                    with urlopen(READY, timeout=1):
                        return f"{time.monotonic() - start:.0f} s"
                except OSError:
                    time.sleep(0.1)
            said.seek(0)
            lines = [each for each in said.read().splitlines() if not each.startswith("make")]
            return f"refuses: {lines[-1]}" if process.poll() else "not ready"
        finally:
            process.kill()  # unshare ignores other signals, and takes all in it along
            process.wait()


def _test(folder: Path) -> tuple[str, float]:
    start = time.monotonic()
    command = _inside(folder, "make test")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    sys.stderr.write(done.stdout[-20_000:] + done.stderr[-2_000:])
    found = re.findall(r"=+ (.*(?:passed|failed).*) in [\d.]+s", done.stdout)
    return (found or [f"ended with {done.returncode}"])[-1], seconds


def taken(suite: str) -> Taken:
    with tempfile.TemporaryDirectory(prefix="debian-", ignore_cleanup_errors=True) as place:
        folder = Path(place, suite)
        _debian(suite, folder)
        asked = _inside(folder, "python3 --version")
        version = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        ready = _run(folder)
        return Taken(suite, version.split()[1], ready, *_test(folder))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.pythons", description=__doc__)
    parser.add_argument("--suites", default="bookworm,trixie,forky", help="of Debian, by commas")
    add_files(parser)
    args = parser.parse_args()
    found = [taken(suite) for suite in args.suites.split(",")]
    rows = [
        [each.suite, each.python, each.run, each.test, f"{each.seconds:.0f} s"] for each in found
    ]
    head = ["Debian", "Python", "`make run`, until it is ready", "`make test`", "in"]
    report = f"Revision {revision()}. From nothing: no `.venv`, no package cached.\n\n"
    put_out_measured(
        args, report + table(head, rows), {"taken": [each._asdict() for each in found]}
    )


if __name__ == "__main__":
    main()
