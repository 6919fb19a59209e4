"""The edge to the API server: credentials, requests, list and watch, the feed of the cache.

kubernetes_asyncio reads credentials for us and nothing else. But its packages import each other
whole, a thousand generated modules of models and APIs: 40 MiB for the life of the process, and a
third of a second at its start. So here they come without their models, and without its client.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path

_PACKAGES = ("kubernetes_asyncio", "kubernetes_asyncio.client")


def leave_out_models() -> None:
    """Put the packages in place without running their __init__; nothing if they are there already.

    Their other modules are then imported one by one, as they are asked for.
    """
    if _PACKAGES[0] in sys.modules:
        return
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        sys.modules[name] = module_from_spec(spec)
    configuration = import_module("kubernetes_asyncio.client.configuration").Configuration
    # All that kubernetes_asyncio.config takes from there; only what we do not call makes a client.
    vars(sys.modules["kubernetes_asyncio.client"]).update(
        Configuration=configuration, ApiClient=None
    )


def import_without_home() -> None:
    """Import what asks for the home directory, where there is none to be found.

    A container's user need not be in /etc/passwd, and not every runtime sets HOME.
    """
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"
        try:
            import_module("kubernetes_asyncio.config")
        finally:
            del os.environ["HOME"]


leave_out_models()
import_without_home()
