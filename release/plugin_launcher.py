#!/usr/bin/env python3
"""Start the kubectl plugin with the packages beside this file.

It is packed as `kubectl-affinity`. Any Python from 3.6 on can read it, to say which one is needed.
"""

import os
import shutil
import sys
from pathlib import Path

CANNOT_RUN = 3
"""What the plugin ends with as well where something that it needs cannot be had."""

# krew puts a link to this file into a folder of PATH.
LIBRARIES = Path(__file__).resolve().parent / "lib"
TRIED = "KUBECTL_AFFINITY_TRIED"
"""Set in the environment of the second Python, so that there is no third."""


def main() -> int:
    """Run the plugin, with another Python if this one is too old or too new."""
    packed = sorted(int(each.name[len("cp3") :]) for each in LIBRARIES.glob("cp3*"))
    major, minor = sys.version_info[:2]
    if major == 3 and minor in packed:  # noqa: PLR2004 - the 3 in Python 3
        return _run(LIBRARIES / ("cp3%d" % minor))
    for each in reversed(packed):
        python = shutil.which("python3.%d" % each)
        if python is not None and TRIED not in os.environ:
            os.environ[TRIED] = python
            os.execv(python, [python, __file__, *sys.argv[1:]])  # noqa: S606 - no shell is wanted
    return _complain(
        "Python 3.%d to 3.%d is needed, and %s is %d.%d; install one of them, as python3.%d for "
        "example, beside it" % (packed[0], packed[-1], sys.executable, major, minor, packed[-1])
    )


def _run(compiled: Path) -> int:
    sys.path[:1] = [str(LIBRARIES / "all"), str(compiled)]  # instead of the folder of this file
    try:
        import msgspec  # noqa: F401, PLC0415 - compiled, and every command needs it

        from affinityctl.cli import kubectl  # noqa: PLC0415
    except ImportError as error:
        return _complain(
            "the packages in %s cannot be loaded here (%s); install the program with pipx instead"
            % (LIBRARIES, error)
        )
    return kubectl()


def _complain(text: str) -> int:
    sys.stderr.write("kubectl-affinity: %s\n" % text)
    return CANNOT_RUN


if __name__ == "__main__":
    sys.exit(main())
