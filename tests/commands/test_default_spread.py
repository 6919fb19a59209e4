"""Default topology spread constraints, which explain and simulate take from a scheduler's file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from affinityctl.scheduler.default_spread.selectors import Selectors
from affinityctl.scheduler.file import API_VERSION, KIND
from tests.builders import HOST, ZONE, Pod, model_pod, node, pod, selector, workload

ROOM = {"cpu": "9", "memory": "9Gi", "pods": "9"}
NODES = [node(name, {HOST: name, ZONE: name[0]}, ROOM) for name in ("a1", "a2", "b1")]
WEB = pod("new").labels(app="web")
THERE = pod("there").labels(app="web").on("a1")
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}},
}
OWN: dict[str, Any] = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}
BY_ZONE: dict[str, Any] = OWN | {"topologyKey": ZONE}
SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": selector(tier="x")},
}
"""As dump writes it."""
OWNED = WEB.owned_by("ReplicaSet/web")
SKEWED = (
    "2 of 3 nodes: the scheduler's default topology spread on zone: a has 1 of these pods, b has "
    "0, and at most 1 more is allowed; 1 fit"
)
NOT_WEB = {"spec": {"selector": {"app": "db"}}}
CONTROLLER = SERVICE | {"kind": "ReplicationController"}
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
TAINTED = node("c1", {HOST: "c1", ZONE: "c"}, ROOM, [TAINT])
FITS = "fits on 3 of 3 nodes"
LACKING = (
    "3 of 3 nodes may fit; default topology spread constraints of its scheduler are not looked at "
    "without"
)


def profile(*constraints: Any, name: str = "default-scheduler", **further: Any) -> Any:
    args = {"defaultingType": "List", "defaultConstraints": [*constraints]}
    config = [{"name": "PodTopologySpread", "args": args}]
    return {"schedulerName": name, "pluginConfig": config, **further}


def file_of(*profiles: Any) -> Any:
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [*profiles]}


def with_spec(raw: Any, **fields: Any) -> Pod:
    return Pod({**raw, "spec": raw["spec"] | fields})


def with_owner(raw: Any, **fields: Any) -> Pod:
    (owner,) = raw["metadata"]["ownerReferences"]
    return Pod({**raw, "metadata": raw["metadata"] | {"ownerReferences": [owner | fields]}})


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command with a scheduler's file; return its exit code and what it said on one line."""

    def run(line: str, config: Any, *objects: Any) -> tuple[int, str]:
        dump, file = tmp_path / "dump.json", tmp_path / "scheduler.yaml"
        dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *objects]}))
        file.write_text(yaml.safe_dump(config))
        flags = ["--cluster", str(dump), "--scheduler-config", str(file)]
        code = cli.main([*line.split(), *flags])
        told = capsys.readouterr()
        return code, " ".join((told.out + told.err).split())

    return run


OFF: dict[str, Any] = {"plugins": {"multiPoint": {"disabled": [{"name": "PodTopologySpread"}]}}}
EXPLAINED: dict[str, tuple[Any, list[Any], int, str]] = {
    "a service selects it": (profile(BY_ZONE), [WEB, SERVICE], 0, SKEWED),
    "nothing selects it": (
        profile(BY_ZONE),
        [WEB, SERVICE | {"spec": {"selector": {"app": "db"}}}],
        0,
        FITS,
    ),
    "its ReplicaSet as well": (profile(BY_ZONE), [OWNED, SERVICE, SET], 0, FITS),
    "its own constraints": (
        profile(BY_ZONE),
        [with_spec(WEB, topologySpreadConstraints=[OWN | {"labelSelector": {}}]), SERVICE],
        0,
        FITS,
    ),
    "a soft one of its own": (
        profile(BY_ZONE),
        [
            with_spec(
                WEB, topologySpreadConstraints=[BY_ZONE | {"whenUnsatisfiable": "ScheduleAnyway"}]
            ),
            SERVICE,
        ],
        0,
        FITS,
    ),
    "soft default ones": (
        profile(BY_ZONE | {"whenUnsatisfiable": "ScheduleAnyway"}),
        [WEB],
        0,
        FITS,
    ),
    "the built-in ones": ({"schedulerName": "default-scheduler"}, [WEB], 0, FITS),
    "another profile": (profile(BY_ZONE, name="other"), [WEB, SERVICE], 0, FITS),
    "its profile": (
        profile(BY_ZONE, name="other"),
        [with_spec(WEB, schedulerName="other"), SERVICE],
        0,
        SKEWED,
    ),
    "the plugin is off": (profile(BY_ZONE, **OFF), [WEB, SERVICE], 0, FITS),
    "no services in the dump": (profile(BY_ZONE), [WEB], 4, f"{LACKING} services"),
    "no ReplicaSets in the dump": (
        profile(BY_ZONE),
        [OWNED, SERVICE],
        4,
        f"{LACKING} replicasets",
    ),
    "a controller of others": (
        profile(BY_ZONE),
        [WEB.owned_by("Rollout/web"), SERVICE],
        0,
        SKEWED,
    ),
    "a kind of the same name of another group": (
        profile(BY_ZONE),
        [with_owner(OWNED, apiVersion="example.com/v1"), SERVICE, SET],
        0,
        SKEWED,
    ),
    "a service of another namespace selects it": (
        profile(BY_ZONE),
        [WEB, SERVICE | {"metadata": {"name": "web", "namespace": "other"}}],
        0,
        FITS,
    ),
    "nothing selects it, and a node has no such label": (
        profile(BY_ZONE),
        [WEB, SERVICE | {"spec": {"selector": {"app": "db"}}}, node("bare", {HOST: "bare"}, ROOM)],
        0,
        "fits on 4 of 4 nodes",
    ),
    "a ReplicationController selects it": (
        profile(BY_ZONE),
        [WEB.owned_by("ReplicationController/web"), SERVICE | NOT_WEB, CONTROLLER],
        0,
        SKEWED,
    ),
    "the plugin is off, and no services are in the dump": (profile(BY_ZONE, **OFF), [WEB], 0, FITS),
    "more domains than there are": (
        profile(BY_ZONE | {"minDomains": 3}),
        [WEB, SERVICE, pod("other").labels(app="web").on("b1")],
        1,
        "there are 2 of at least 3 domains",
    ),
    "nodes that it does not ask for do not count": (
        profile(BY_ZONE),
        [WEB.selects(**{ZONE: "a"}), SERVICE],
        0,
        "fits on 2 of 3 nodes",
    ),
    "a soft one over the same label": (
        profile(BY_ZONE, BY_ZONE | {"whenUnsatisfiable": "ScheduleAnyway"}),
        [WEB, SERVICE],
        0,
        SKEWED,
    ),
    "a tainted node": (
        profile(BY_ZONE),
        [WEB, SERVICE, pod("other").labels(app="web").on("b1"), TAINTED],
        1,
        "c has 0, and at most 1 more is allowed",
    ),
    "a tainted node that is not to count": (
        profile(BY_ZONE | {"nodeTaintsPolicy": "Honor"}),
        [WEB, SERVICE, pod("other").labels(app="web").on("b1"), TAINTED],
        0,
        "fits on 3 of 4 nodes",
    ),
}


@pytest.mark.parametrize("case", EXPLAINED)
def test_explain(case: str, command: Command) -> None:
    config, objects, code, said = EXPLAINED[case]
    found = command("explain new", file_of(config), THERE, *objects)
    assert (found[0], said in found[1]) == (code, True), found[1]


def test_pods_that_differ_in_their_controller_alone_have_selectors_of_their_own() -> None:
    selectors = Selectors()
    selectors.take("ReplicaSet", json.dumps(SET).encode())
    mine, other = (model_pod(WEB.owned_by(f"ReplicaSet/{name}")) for name in ("web", "other"))
    assert [each.key for each in selectors.of(mine).requirements] == ["tier"]
    assert [each.key for each in selectors.of(other).requirements] == []
    selectors.take("Service", json.dumps(SERVICE).encode())
    assert [each.key for each in selectors.of(other).requirements] == ["app"]


def test_the_plugin_is_off_for_constraints_of_pods_as_well(command: Command) -> None:
    own = BY_ZONE | {"labelSelector": selector(app="web")}
    new = with_spec(WEB, topologySpreadConstraints=[own])
    config = {"schedulerName": "default-scheduler", **OFF}
    assert FITS in command("explain new", file_of(config), THERE, new)[1]
    said = command("explain new", file_of(profile()), THERE, new)[1]
    assert "2 of 3 nodes: your topology spread" in said


WRONG: dict[str, tuple[Any, str]] = {
    "no selector": (
        file_of(profile(BY_ZONE | {"labelSelector": {"matchLabels": {}}})),
        "profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: a default",
    ),
    "skew": (file_of(profile(BY_ZONE | {"maxSkew": 0})), "[0].maxSkew: has to be 1 or more"),
    "key": (file_of(profile(BY_ZONE | {"topologyKey": ""})), "[0].topologyKey: '' is not a label"),
    "action": (
        file_of(profile(BY_ZONE | {"whenUnsatisfiable": "Never"})),
        "[0].whenUnsatisfiable: has to be DoNotSchedule or ScheduleAnyway",
    ),
    "twice": (
        file_of(profile(BY_ZONE, OWN, BY_ZONE | {"maxSkew": 2})),
        "args.defaultConstraints[2]: another has this topologyKey and whenUnsatisfiable",
    ),
    "a field that nobody knows": (
        file_of(profile(BY_ZONE | {"maxSkw": 2})),
        "args.defaultConstraints[0]: Object contains unknown field `maxSkw`",
    ),
    "a type": (
        file_of(profile(BY_ZONE | {"maxSkew": "2"})),
        "args.defaultConstraints[0].maxSkew: Expected `int`, got `str`",
    ),
    "System": (
        file_of(
            {"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultConstraints": [OWN]}}]}
        ),
        "profiles[0].pluginConfig[0].args.defaultingType: has to be List",
    ),
    "another type": (
        file_of({"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "X"}}]}),
        "args.defaultingType: has to be System or List",
    ),
    "arguments of another plugin": (
        file_of({"pluginConfig": [{"name": "PodTopologySpread", "args": {"kind": "X"}}]}),
        "args.kind: has to be PodTopologySpreadArgs",
    ),
    "arguments twice": (
        file_of({"pluginConfig": [{"name": "PodTopologySpread"}] * 2}),
        "profiles[0].pluginConfig: PodTopologySpread is there twice",
    ),
    "a name twice": (
        file_of(profile(), profile()),
        "profiles[1].schedulerName: another profile has this name",
    ),
    "no name": (file_of({}, profile()), "profiles[0].schedulerName: a profile needs a name"),
    "half off": (
        file_of({"plugins": {"preFilter": {"disabled": [{"name": "*"}]}}}),
        "profiles[0].plugins.preFilter: NodePorts is off here",
    ),
    "another version": (file_of() | {"apiVersion": "v1"}, "apiVersion: 'v1' is not"),
    "another kind": (SERVICE, f"0 objects of kind {KIND}, where one is expected"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_scheduler_would_refuse(case: str, command: Command) -> None:
    config, said = WRONG[case]
    found = command("explain new", config, WEB)
    assert (found[0], said in found[1]) == (2, True), found[1]
    assert "scheduler.yaml: " in found[1]


def apart(tmp_path: Path, **changes: Any) -> str:
    """Write a Deployment of four pods, and return what places it."""
    path = tmp_path / "web.yaml"
    template = pod("t").labels(app="web").requests(cpu="1")
    made = workload("Deployment", "web", template, replicas=4, **changes)
    path.write_text(yaml.safe_dump(made))
    return f"simulate -f {path} -o wide"


def test_simulate_spreads_what_a_template_makes(command: Command, tmp_path: Path) -> None:
    """Whom the Deployment's ReplicaSet will select tells its selector, with the hash."""
    line = apart(tmp_path, selector=selector(app="web"))
    old = [pod(f"old-{number}").labels(app="web").on("a1") for number in range(3)]
    other = SERVICE | {"spec": {"selector": {"app": "db"}}}
    code, said = command(line, file_of(profile(BY_ZONE)), other, *old)
    assert (code, "by zone: a 2, b 2" in said) == (0, True), said


def test_simulate_counts_all_that_a_service_alone_selects(command: Command, tmp_path: Path) -> None:
    line = apart(tmp_path, selector=selector(app="web")).replace("Deployment", "Job")
    job = workload("Job", "web", pod("t").labels(app="web"), parallelism=4)
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(job))
    old = [pod(f"old-{number}").labels(app="web").on("a1") for number in range(4)]
    code, said = command(line, file_of(profile(BY_ZONE)), SERVICE, *old)
    assert (code, "by zone: b 4" in said) == (0, True), said


def test_simulate_is_not_certain_without_services(command: Command, tmp_path: Path) -> None:
    line = apart(tmp_path, selector=selector(app="web"))
    code, said = command(line, file_of(profile(BY_ZONE)))
    assert code == 4
    assert "topologySpreadConstraints (default) of default/web-new-1" in said


def test_pods_wait_until_others_make_up_for_the_skew(command: Command) -> None:
    """Of two that come one after the other, the first that is looked at has to wait a round."""
    only_a = WEB.selects(**{ZONE: "a"})
    waiting = [
        Pod({**only_a, "metadata": only_a["metadata"] | {"name": "first"}}),
        Pod({**WEB, "metadata": WEB["metadata"] | {"name": "second"}}),
    ]
    ignoring = BY_ZONE | {"nodeAffinityPolicy": "Ignore"}
    code, said = command("simulate", file_of(profile(ignoring)), THERE, SERVICE, *waiting)
    assert (code, "2 pods placed" in said) == (0, True), said


def test_what_selects_pods_is_no_workload_of_its_own(command: Command) -> None:
    """A ReplicaSet as dump writes it has no template: nobody makes pods of it."""
    code, said = command("simulate", file_of(profile(BY_ZONE)), SERVICE, SET)
    assert (code, said) == (0, "No pod waits, and nothing was to be changed.")


def test_a_profile_of_a_scheduler_that_is_read_as_the_default_is_refused(command: Command) -> None:
    config = file_of(profile(BY_ZONE), profile(BY_ZONE, name="batch"))
    code, said = command("simulate --scheduler-name batch", config, WEB, SERVICE)
    assert (code, "not by batch" in said) == (2, True), said
