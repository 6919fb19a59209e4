"""Several pods, named as kubectl does, and all that wait."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from affinityctl.commands.explain import run as explaining
from tests.builders import HOST, Pod, namespace, pod, term, workload
from tests.commands.explain.cluster import WEB, Explain

APART = pod("t", "shop").labels({"app": "web", "pod-template-hash": "5d"})
APART = APART.anti_affinity(term(HOST, WEB)).owned_by("ReplicaSet/web-5d")


def replica(name: str, node_name: str | None = None) -> Pod:
    made = Pod(APART | {"metadata": APART["metadata"] | {"name": name, "uid": name}})
    return made if node_name is None else made.on(node_name)


SHOP = [
    *(replica(f"web-{name}", name) for name in ("a1", "a2", "b1")),
    replica("web-x"),
    replica("web-y"),
    pod("picky").selects(disk="ssd"),
    pod("easy"),
]


def headlines(said: str) -> list[str]:
    return [part.partition("\n")[0] for part in said.split("\n\n\n")]


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("shop/web-x picky", 1, ["shop/web-x fits on no node", "default/picky fits on no node"]),
        ("pod/web-x -n shop", 1, ["shop/web-x fits on no node"]),
        ("deployment/web -n shop", 1, ["shop/web-x fits on no node"]),
        ("deploy/web rs/web-5d web-y -n shop", 1, [f"shop/web-{x} fits on no node" for x in "xy"]),
        ("-l app=web -n shop", 1, ["shop/web-x fits on no node"]),
        ("-l !app -A", 1, ["default/picky fits on no node", "default/easy fits on 3 of 3 nodes"]),
        ("easy easy", 0, ["default/easy fits on 3 of 3 nodes"]),
    ],
)
def test_pods_are_named_as_kubectl_does(
    line: str, code: int, told: list[str], explain: Explain
) -> None:
    ended, said = explain(line, *SHOP)
    assert (ended, headlines(said)) == (code, told)


def like(name: str, **spec: Any) -> Pod:
    """Build one of pods with the same labels, resources and rules."""
    made = pod(name).labels(app="web").owned_by("ReplicaSet/web")
    return Pod(made | {"spec": made["spec"] | spec})


CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}
SPREAD = {"maxSkew": 1, "topologyKey": "no-such", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize("line", ["rs/web", "-l app=web"])
@pytest.mark.parametrize(
    ("spec", "code", "told"),
    [
        pytest.param({"schedulingGates": [{"name": "a/b"}]}, 4, "waits for its", id="a gate"),
        pytest.param({"schedulerName": "other"}, 4, "asks for scheduler", id="another scheduler"),
        pytest.param({"volumes": [CLAIM]}, 4, "may fit on 3", id="a volume"),
        pytest.param({"topologySpreadConstraints": [SPREAD]}, 1, "fits on no node", id="a spread"),
        pytest.param({"priority": 9}, 0, "fits on 3 of 3 nodes", id="a priority"),
    ],
)
def test_pods_are_alike_that_wait_for_the_same(
    line: str, spec: Any, code: int, told: str, explain: Explain
) -> None:
    ended, said = explain(line, like("web-1"), like("web-2", **spec), like("web-3"))
    first, *others = headlines(said)
    assert (ended, first) == (code, "default/web-1 fits on 3 of 3 nodes")
    assert [each.startswith(f"default/web-2 {told}") for each in others] == [True]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("deployment/web", "POD: no pod deployment/web waits or runs in namespace default"),
        ("deployment/wbe -n shop", "did you mean deployment/web"),
        ("-n shpo", "--namespace: no namespace shpo; did you mean shop?"),
        ("-l app=nope -n shpo", "--namespace: no namespace shpo; did you mean shop?"),
        ("nobody -n shpo", "--namespace: no namespace shpo; did you mean shop?"),
        ("-l app=nope -A", "--selector: no pod in any namespace has such labels"),
        ("-l app=(", "--selector: 'app=(' is no condition"),
        ("easy -A", "--all-namespaces: has no use beside a pod's name or -n"),
        ("easy -l app=web", "POD: name pods, or give a selector with -l or a manifest with -f"),
    ],
)
def test_what_names_no_pod(line: str, said: str, explain: Explain) -> None:
    code, told = explain(line, namespace("default"), namespace("shop"), *SHOP)
    assert (code, said in told) == (2, True), told


def test_a_workload_without_waiting_pods_has_one_that_is_placed(explain: Explain) -> None:
    code, said = explain("deployment/web -n shop", *SHOP[:3])
    assert code == 0
    assert headlines(said) == ["shop/web-a1 fits on 1 of 3 nodes"]


NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
ALL = """\
4 pods wait, for 3 causes.

2 pods: your anti-affinity on hostname
  shop/web-y, shop/web-x, the oldest for 2d3h
    3 of 3 nodes: your anti-affinity on hostname, blocked by shop/web-a1,
      shop/web-a2, shop/web-b1 on a1, a2, b1
    To do: Have fewer replicas or more domains, as each takes one for itself; or
      use a topology spread constraint or preferred anti-affinity instead

1 pod: fits now; waiting for the scheduler to retry
  default/easy, for 30s
    3 of 3 nodes fit

1 pod: node affinity
  default/picky
    3 of 3 nodes: node affinity
    To do: Ask for a label that nodes have, or add nodes with the one that is
      asked for
"""


def aged(made: Any, **ago: int) -> Any:
    created = f"{NOW - timedelta(**ago):%Y-%m-%dT%H:%M:%SZ}"
    return made | {"metadata": made["metadata"] | {"creationTimestamp": created}}


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(explaining, "time", NOW.timestamp)
    ages = {"web-x": {"hours": 1}, "web-y": {"hours": 51}, "easy": {"seconds": 30}}
    return [aged(e, **ages[n]) if (n := e["metadata"]["name"]) in ages else e for e in SHOP]


def test_all_that_wait_by_cause(explain: Explain, shop: list[Any]) -> None:
    assert explain("-A", *shop) == (1, ALL)
    code, said = explain("-A -o json", *shop)
    told = json.loads(said)["waiting"]
    assert code == 1
    assert told[0]["cause"] == "your anti-affinity on hostname"
    assert [each["pod"] for each in told[0]["kinds"][0]["pods"]] == ["shop/web-y", "shop/web-x"]
    assert told[1]["kinds"][0]["pods"][0]["created"] == "2026-11-24T11:59:30Z"


EASY = "fits now; waiting for the scheduler to retry"
GATED = {"schedulingGates": [{"name": "a"}, {"name": "b"}]}
FORGED = [{"name": "a\n"}]
ELSEWHERE = {"schedulerName": "mine"}


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        pytest.param(Pod(pod("p") | {"spec": spec | GATED}), "scheduling gates (a, b)", id="gates")
        for spec in ({}, {"nodeSelector": {"disk": "ssd"}})
    ]
    + [
        pytest.param(Pod(pod("p") | {"spec": ELSEWHERE}), "asks for scheduler 'mine'", id="other"),
        pytest.param(
            Pod(pod("p") | {"spec": {"schedulerName": "affinity-scheduler"}}),
            "fits now; waiting for the scheduler to retry",
            id="ours",
        ),
        pytest.param(
            Pod(pod("p") | {"spec": GATED | ELSEWHERE}),
            "scheduling gates (a, b); asks for scheduler 'mine'",
            id="both",
        ),
        pytest.param(
            Pod(pod("p") | {"spec": {"schedulerName": "\x1b[31m", "schedulingGates": FORGED}}),
            r"scheduling gates (a\n); asks for scheduler '\x1b[31m'",
            id="names that would drive a terminal",
        ),
        pytest.param(
            Pod(pod("p") | {"spec": ELSEWHERE | {"nodeSelector": {"disk": "ssd"}}}),
            "node affinity",
            id="other, and fits nowhere",
        ),
    ],
)
def test_whom_the_scheduler_leaves_alone_waits_for_that(
    made: Pod, cause: str, explain: Explain
) -> None:
    told = json.loads(explain("-o json", made, pod("easy"))[1])["waiting"]
    assert {each["cause"] for each in told} == {cause, EASY}


@pytest.mark.parametrize("named", [False, True], ids=["all that wait", "named"])
@pytest.mark.parametrize(
    ("names", "code"),
    [
        ("fits", 0),
        ("gated", 4),
        ("picky", 1),
        ("fits gated", 4),
        ("fits picky", 1),
        ("gated picky", 1),
        ("picky gated fits", 1),
    ],
)
def test_what_is_not_fine_outweighs_what_is_unknown(
    names: str, code: int, *, named: bool, explain: Explain
) -> None:
    gate = {"schedulingGates": [{"name": "a/b"}]}
    pods = {
        "fits": pod("fits"),
        "gated": like("gated", **gate),
        "picky": pod("picky").selects(disk="ssd"),
    }
    assert explain(names if named else "", *(pods[each] for each in names.split()))[0] == code


def test_pods_that_are_being_deleted_do_not_wait(explain: Explain) -> None:
    going = pod("going")
    going["metadata"]["deletionTimestamp"] = "2026-11-28T00:00:00Z"
    code, said = explain("-o json", going, pod("easy"))
    assert code == 0
    (told,) = json.loads(said)["waiting"]
    assert [each["pod"] for kind in told["kinds"] for each in kind["pods"]] == ["default/easy"]


def test_a_pod_that_is_put_on_no_node_waits_as_well(explain: Explain) -> None:
    code, said = explain("-o json", pod("ghost").on("gone"), pod("there").on("a1"))
    assert code == 4
    (told,) = json.loads(said)["waiting"]
    assert told["cause"] == "names node gone in spec.nodeName, and there is none"


def test_a_pod_that_its_controller_has_not_made_does_not_wait(explain: Explain) -> None:
    made = workload("Deployment", "new", pod("t").selects(disk="ssd"), replicas=2)
    code, said = explain("-A", made)
    assert code == 1
    assert said.splitlines()[:4] == [
        "2 pods are not made yet by their controllers, for 1 cause.",
        "",
        "2 pods: node affinity",
        "  default/deployment/new[0], default/deployment/new[1]",
    ]
    told = json.loads(explain("-A -o json", made, pod("easy"))[1])
    assert [len(told[each]) for each in ("waiting", "notMade")] == [1, 1]


def test_those_of_one_namespace(explain: Explain, shop: list[Any]) -> None:
    code, said = explain("-n shop", *shop)
    assert (code, said.partition("\n")[0]) == (1, "2 pods wait, for 1 cause.")
    waits = "No pod waits in namespace red; -A has 4 in others.\n"
    assert explain("-n red", *shop) == (0, waits)


def test_a_workload_of_a_dump_is_found_by_its_template(explain: Explain) -> None:
    made = workload("Deployment", "new", pod("t").selects(disk="ssd"), replicas=2)
    code, said = explain("deployment/new", made)
    assert (code, headlines(said)) == (1, ["default/deployment/new[0] fits on no node"])
