"""The client library, as the program imports it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_REPORT = """
import json, sys
import extender.core.kube.credentials
print(json.dumps([name for name in sys.modules if name.startswith("kubernetes_asyncio")]))
"""


def test_credentials_are_read_without_a_thousand_models() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _REPORT], check=True, capture_output=True, text=True
    )
    modules = json.loads(found.stdout)
    assert "kubernetes_asyncio.config.kube_config" in modules
    client = {name for name in modules if name.startswith("kubernetes_asyncio.client.")}
    assert client == {
        f"kubernetes_asyncio.client.{name}" for name in ("configuration", "exceptions")
    }


def test_a_user_without_a_home_can_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    nobody = "import pwd\npwd.getpwuid = {}.__getitem__\n"
    checked = "import os\nassert 'HOME' not in os.environ\n"
    subprocess.run([sys.executable, "-c", nobody + _REPORT + checked], check=True)
