"""The image's surroundings without a container engine: its user, and no folder to write to."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.deploy.places import ROOT
from tests.missing import missing

USER, GROUP = re.findall(r"^USER (\d+):(\d+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[0]

_READ_ONLY = """
set -eu
mount --make-rprivate /
awk '{ print $5 }' /proc/self/mountinfo | while read -r folder; do
  mount -o remount,bind,ro "$(printf %b "$folder")" 2>/dev/null || true
done
for folder in / /tmp /var/tmp /dev/shm "$PWD"; do
  if touch "$folder/writable" 2>/dev/null; then echo "$folder is writable" >&2; exit 9; fi
done
exec "$@"
"""
"""Every mount of a namespace of its own; the machine's stay as they are."""

# Only so that it may read a Python that lies in somebody's home.
_READS = "dac_read_search"


def contained(command: list[str], root: Path) -> list[str]:
    """Return what runs a command of an unpacked image as its user, with nothing else in sight."""
    require_namespaces()
    return [
        *("unshare", "--mount", "sh", "-c", _READ_ONLY, "sh"),
        *("setpriv", "--no-new-privs"),
        *("chroot", f"--userspec={USER}:{GROUP}", "--groups=", str(root)),
        *command,
    ]


def confined(command: list[str]) -> list[str]:
    """Return what runs a command as the image's user where nothing can be written to."""
    require_namespaces()
    return [
        *("unshare", "--mount", "sh", "-c", _READ_ONLY, "sh"),
        *("setpriv", f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups", "--no-new-privs"),
        *(f"--inh-caps=-all,+{_READS}", f"--ambient-caps=-all,+{_READS}"),
        f"--bounding-set=-all,+{_READS}",
        *command,
    ]


@functools.cache
def require_namespaces() -> None:
    """Skip, or fail where results count, where no other surroundings can be made."""
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        missing("unshare and setpriv (util-linux) are not installed")
    if os.geteuid() != 0:
        missing("only root may make a mount namespace with another user in it")
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "--make-rprivate", "/"],  # noqa: S607 - as installed
        capture_output=True,
        check=False,
    )
    if tried.returncode:
        missing(f"no mount namespaces here: {tried.stderr.decode().strip()}")
