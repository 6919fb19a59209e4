"""-o name: lines that can be piped to kubectl."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from affinityctl import cli
from tests.builders import HOST, crossing, node, pod, quota, selector, term, workload

APART = term(HOST, selector(app="web"))
WEB = pod("web").labels(app="web").anti_affinity(APART)
ANYWHERE = APART | {"namespaceSelector": {}}


def cluster() -> list[Any]:
    shop = pod("web", "shop").labels(app="web").anti_affinity(ANYWHERE)
    return [
        node("n", {HOST: "n"}),
        WEB.on("n"),
        pod("web2").labels(app="web").on("n"),
        pod("new").labels(app="web").anti_affinity(APART),
        pod("new", "shop").labels(app="web").anti_affinity(ANYWHERE),
        shop,
        quota("few", {"pods": "1"}, crossing(), namespace_name="shop"),
        workload("Deployment", "api", pod("t").selects(disk="ssd"), replicas=3),
    ]


@pytest.fixture
def named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(line: str, *objects: Any) -> list[str]:
        dump = tmp_path / "dump.json"
        dump.write_text(json.dumps({"kind": "List", "items": objects or cluster()}))
        assert cli.main([*line.split(), "-o", "name", "--cluster", str(dump)]) in {0, 1, 4}
        return capsys.readouterr().out.splitlines()

    return run


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("explain new", ["pod/new -n default"], id="a pod of the usual namespace"),
        pytest.param(
            "explain new -n shop", ["pod/new -n shop"], id="a pod of the namespace that -n names"
        ),
        pytest.param(
            "explain new shop/new",
            ["pod/new -n default", "pod/new -n shop"],
            id="pods of two namespaces",
        ),
        pytest.param(
            "explain",
            ["deployment/api -n default", "pod/new -n default"],
            id="what waits, one line for three replicas that are not made",
        ),
        pytest.param(
            "explain -A",
            [
                "deployment/api -n default",
                "pod/new -n default",
                "pod/new -n shop",
                "pod/web -n shop",
            ],
            id="what waits anywhere",
        ),
        pytest.param("explain web", ["pod/web -n default"], id="a pod that runs"),
        pytest.param(
            "simulate --drain n",
            [
                "deployment/api -n default",
                "pod/new -n default",
                "pod/new -n shop",
                "pod/web -n default",
                "pod/web -n shop",
                "pod/web2 -n default",
            ],
            id="who waits or is gone after a drain",
        ),
        pytest.param("violations --plain-rules=", ["pod/web -n default"], id="what breaks a rule"),
        pytest.param(
            "violations --plain-rules= -n default",
            ["pod/web -n default"],
            id="and in one namespace",
        ),
        pytest.param("violations -n shop --plain-rules=", [], id="nothing"),
        pytest.param("quota", ["pod/new -n shop", "pod/web -n shop"], id="pods in scope"),
        pytest.param("lint", ["deployment/api -n default"], id="findings"),
        pytest.param("advise", ["deployment/api -n default"], id="traps"),
    ],
)
def test_what_the_command_is_about(line: str, expected: list[str], named: Any) -> None:
    assert sorted(named(line)) == sorted(expected)


def test_a_hostile_name_is_one_word_for_xargs(named: Any) -> None:
    (line,) = named("explain", node("n"), pod("x --all\n'$(reboot)\x1b[31m").selects(disk="ssd"))
    given = subprocess.run(
        ["xargs", "-L1", "printf", "<%s>"],  # noqa: S607 - the user's own
        input=line,
        capture_output=True,
        text=True,
        check=True,
    )
    assert given.stdout == r"<pod/x --all\n'$(reboot)\x1b[31m><-n><default>"
