"""Import contracts fail when an arrow is turned round, and no imports go in circles."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from bench.shape import PROGRAM, circles
from extender.features import FEATURES

ROOT = Path(__file__).parent.parent
LAYERS = "Layers of the core"
PURE = "The core knows no I/O, clock, log, metric or codec"
ARROWS = [
    pytest.param(
        LAYERS, "core/model/labels.py", "extender.core.cluster.state", id="model on the cluster"
    ),
    pytest.param(
        LAYERS, "core/cluster/state.py", "extender.core.verbs.plugins", id="the cluster on rules"
    ),
    pytest.param(LAYERS, "core/verbs/plugins.py", "extender.core.wire.objects", id="rules on JSON"),
    pytest.param(LAYERS, "core/wire/objects.py", "extender.core.metrics", id="JSON on metrics"),
    pytest.param(
        LAYERS, "core/controllers/history.py", "extender.core.web.app", id="a controller on HTTP"
    ),
    pytest.param(
        LAYERS,
        "core/controllers/history.py",
        "extender.core.callbacks.filtering",
        id="a controller on a callback",
    ),
    pytest.param(
        LAYERS, "core/kube/reader.py", "extender.core.callbacks.filtering", id="kube on a callback"
    ),
    pytest.param(
        LAYERS, "core/callbacks/filtering.py", "extender.core.web.app", id="a callback on HTTP"
    ),
    pytest.param(
        "Layers point one way",
        "core/web/app.py",
        "extender.runtime",
        id="HTTP on the composition root",
    ),
    pytest.param(
        "Layers point one way",
        "core/callbacks/filtering.py",
        "extender.diagnosis.verbs.explain",
        id="a callback on explanations",
    ),
    *(
        pytest.param(
            "The core and the commands know no feature, and no template",
            "runtime.py",
            f"extender.features.{name}.part",
            id=name,
        )
        for name in FEATURES
    ),
    pytest.param(
        "Within the cluster: state owns what is counted and booked",
        "core/cluster/ledgers/budgets.py",
        "extender.core.cluster.state",
        id="a ledger on its owner",
    ),
    pytest.param(
        "The load test stands beside the program",
        "serve.py",
        "clusterload.command",
        id="the program on the load test",
    ),
    pytest.param(
        "The commands for people stand on the program, never under it",
        "serve.py",
        "affinityctl.reading.cluster",
        id="the program on the commands",
    ),
    pytest.param(
        "Layers of the commands",
        "../affinityctl/scheduler/profiles.py",
        "affinityctl.reading.cluster",
        id="what is known of the scheduler on where the cluster comes from",
    ),
    pytest.param(
        "Commands know none of each other but lint",
        "../affinityctl/commands/quota/run.py",
        "affinityctl.commands.explain.waiting",
        id="a command on another",
    ),
    pytest.param(
        "Only the composition root joins ports to kube",
        "core/callbacks/filtering.py",
        "extender.core.kube.reader",
        id="a callback on kube",
    ),
    pytest.param(PURE, "core/verbs/filtering.py", "time", id="a rule on the clock"),
    pytest.param(PURE, "core/cluster/state.py", "logging", id="the state on logs"),
    pytest.param(PURE, "diagnosis/verbs/explain.py", "orjson", id="an explanation on JSON"),
    pytest.param(
        PURE,
        "../affinityctl/commands/simulate/whatif/scheduling.py",
        "random",
        id="a simulation on chance",
    ),
    pytest.param(
        "kubernetes-asyncio stays in kube",
        "core/source.py",
        "kubernetes_asyncio.config",
        id="the source on kubernetes-asyncio",
    ),
    pytest.param(
        "aiohttp stays in web (the server) and kube (the client)",
        "core/callbacks/filtering.py",
        "aiohttp",
        id="a callback on aiohttp",
    ),
    pytest.param(
        "orjson stays in wire",
        "core/callbacks/filtering.py",
        "orjson",
        id="a callback on orjson",
    ),
    pytest.param(
        "prometheus-client stays in metrics",
        "core/kube/client.py",
        "prometheus_client",
        id="kube on prometheus-client",
    ),
]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the code."""
    folder = tmp_path_factory.mktemp("layers")
    for package in ("extender", "affinityctl", "clusterload"):
        shutil.copytree(ROOT / package, folder / package)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def broken(folder: Path) -> list[str]:
    """Return the contracts that do not hold."""
    lint = Path(sys.executable).with_name("lint-imports")
    # The folder comes first on the linter's path, before the installed package.
    ended = subprocess.run(
        [lint, "--no-cache"], check=False, cwd=folder, capture_output=True, text=True
    )
    verdicts = re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", ended.stdout, re.MULTILINE)
    assert verdicts, ended.stdout + ended.stderr
    return [name for name, verdict in verdicts if verdict == "BROKEN"]


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(grimp.build_graph(*PROGRAM, cache_dir=None)) == []


def test_every_contract_holds(copied: Path) -> None:
    assert broken(copied) == []


@pytest.mark.parametrize(("contract", "importer", "imported"), ARROWS)
def test_an_arrow_that_is_turned_round_is_found(
    copied: Path, contract: str, importer: str, imported: str
) -> None:
    file = copied / "extender" / importer
    as_it_is = file.read_text()
    file.write_text(f"{as_it_is}\nimport {imported}\n")
    try:
        assert contract in broken(copied)
    finally:
        file.write_text(as_it_is)
