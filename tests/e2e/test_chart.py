"""The Helm chart makes the objects of the overlays, as Helm itself renders it."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml

from affinityctl import cli
from affinityctl.cli import affinity_extender
from extender import __version__
from extender.core.config.checks import faults
from extender.core.config.document import decode
from extender.core.config.features import lease_name, left_to_scheduler
from extender.core.config.schema import SCHEDULER_VERSIONS
from extender.core.source import lease_key
from release.chart import CHART, package
from tests.builders import HOST, ZONE
from tests.deploy.kustomize import render
from tests.deploy.places import EVERY_OVERLAY, MANIFESTS, OVERLAYS, SIDECAR, read_yaml
from tests.deploy.test_alerts import RUNBOOKS, assert_runbooks_at_the_url
from tests.deploy.test_other_namespaces import allows
from tests.e2e.api import Api, ApiError
from tests.e2e.applying import path_of
from tests.e2e.controlplane.binaries import KUBERNETES, kept
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.controlplane.gobuild import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

    Helm = Callable[..., str]

HELM = "4.3.1"
"""The newest release that the Go of these tests (1.26) can build."""

pytestmark = pytest.mark.long  # Helm takes longer to build than all of Kubernetes' commands.

OF_CLUSTER = ("--namespace=kube-system", f"--kube-version=v{KUBERNETES}")
QUOTA = {"quota": {"enabled": True}}
OPT_IN = {"namespaceOptIn": {"enabled": True}}
GROUPS: JSON = {"mode": "replace", "groups": {"enabled": True}}
VALUES: dict[str, JSON] = {
    "sidecar": {},
    "sidecar-shadow": {"mode": "shadow"},
    "sidecar-replace": {"mode": "replace"},
    "sidecar-quota": QUOTA,
    "sidecar-replace-quota": {"mode": "replace", **QUOTA},
    "service": {"form": "service"},
    "k3s": {"form": "k3s"},
    "kubeadm": {"form": "kubeadm"},
    "kubeadm-replace": {"form": "kubeadm", "mode": "replace"},
    "kubeadm-quota": {"form": "kubeadm", **QUOTA},
    "kubeadm-replace-quota": {"form": "kubeadm", "mode": "replace", **QUOTA},
}
COMPONENTS: dict[str, JSON] = {
    "moving": {"moving": {"enabled": True}},
    "scale-down": {"scaleDown": {"enabled": True}},
    "monitoring": {"monitoring": {"enabled": True}},
    "namespace-opt-in": OPT_IN,
    "monitoring,servicemonitor": {"monitoring": {"enabled": True, "kind": "ServiceMonitor"}},
}


@pytest.fixture(scope="module")
def helm(built: Callable[[Callable[[Callable[[str], None]], Binaries]], Binaries]) -> Helm:
    """Return what runs Helm on the chart with values; the command is built on the first run."""
    command = built(_built)["helm"]

    def run(
        *arguments: str, values: JSON | None = None, code: int = 0, chart: Path | None = CHART
    ) -> str:
        of_chart = () if chart is None else (str(chart), "--values=-")
        done = subprocess.run(
            [command, *arguments, *of_chart],
            input=json.dumps(values or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr if code else done.stdout

    return run


def _built(report: Callable[[str], None]) -> Binaries:
    def compile_it(go: Path, scratch: Path, product: Path) -> None:
        module = "helm.sh/helm/v4"
        arguments = ["-o", str(product / "helm"), f"{module}/cmd/helm"]
        build(go, scratch / "helm", arguments, report, what="Helm", requires=[f"{module} v{HELM}"])

    return kept(f"helm-{HELM}", compile_it, report)


def templated(helm: Helm, values: JSON) -> list[JSON]:
    text = helm("template", "affinity-extender", *OF_CLUSTER, values=values)
    return [one for one in yaml.safe_load_all(text) if one]


def compared(objects: list[JSON]) -> dict[tuple[str, ...], JSON]:
    """Return the objects by kind and name, without what has no meaning.

    Both put a hash of their own at the end of a ConfigMap's name, and write its text in their own
    way. An overlay sets the mode by a flag, which takes precedence; the chart sets it in the file.
    """
    hashed = re.compile(r"(affinity-(?:extender|scheduler)-config)-[a-z0-9]{10}")
    whole: list[JSON] = json.loads(hashed.sub(r"\1", json.dumps(copy.deepcopy(objects))))
    for one in whole:
        if "AdmissionPolicy" in one["kind"]:
            # Kustomize does not know that they are in no namespace; the API server sees to that.
            one["metadata"].pop("namespace", None)
        if one["metadata"]["name"] == "affinity-extender-writes":
            # Kustomize's file has a pattern for the account, whose namespace it cannot know.
            one["spec"].pop("matchConditions", None)
    found: dict[tuple[str, ...], JSON] = {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one
        for one in whole
    }
    assert len(found) == len(whole), "nothing is there twice"
    modes = [mode for one in whole for mode in _flags_of_the_mode(one)]
    for (kind, _, name), one in found.items():
        if kind == "ConfigMap" and "config.yaml" in one["data"]:
            one["data"] = yaml.safe_load(one["data"]["config.yaml"])
            if name == "affinity-extender-config" and modes:
                (one["data"]["mode"],) = modes
    return found


def _flags_of_the_mode(thing: JSON) -> list[str]:
    """Take the flag for the mode out of a pod's arguments, and return its value."""
    spec = thing.get("spec", {}).get("template", {}).get("spec", {})
    taken = []
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        arguments = container.get("args", [])
        taken += [one.removeprefix("--mode=") for one in arguments if one.startswith("--mode=")]
        container["args"] = [one for one in arguments if not one.startswith("--mode=")]
    return taken


def test_every_overlay_has_its_values() -> None:
    assert sorted(VALUES) == [path.name for path in EVERY_OVERLAY]


@pytest.mark.parametrize("overlay", VALUES)
def test_the_chart_makes_the_objects_of_an_overlay(helm: Helm, overlay: str) -> None:
    ours = compared(templated(helm, VALUES[overlay]))
    assert ours == compared(render(OVERLAYS / overlay))


@pytest.mark.parametrize("names", COMPONENTS)
def test_the_chart_makes_the_objects_of_a_component(helm: Helm, names: str, tmp_path: Path) -> None:
    folders = [MANIFESTS / "components" / name for name in names.split(",")]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(SIDECAR, tmp_path)],
        "components": [os.path.relpath(folder, tmp_path) for folder in folders],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    ours = compared(templated(helm, COMPONENTS[names]))
    assert ours == compared(render(tmp_path))
    assert len(ours) > len(render(SIDECAR))


def test_the_package_makes_what_the_checkout_makes(helm: Helm, tmp_path: Path) -> None:
    path = tmp_path / "chart.tgz"
    path.write_bytes(package())
    for values in (*VALUES.values(), *COMPONENTS.values()):
        here, there = (
            helm("template", "affinity-extender", *OF_CLUSTER, values=values, chart=chart)
            for chart in (CHART, path)
        )
        assert there == here


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder = tmp_path_factory.mktemp("cluster")
    with storage_and_apiserver(binaries, binaries, folder, []) as cluster:
        yield cluster


async def test_helm_installs_the_package_and_takes_it_away(
    helm: Helm, cluster: ControlPlane, tmp_path: Path
) -> None:
    path = tmp_path / "chart.tgz"
    path.write_bytes(package())
    where = (f"--kubeconfig={cluster.kubeconfig(ADMIN)}", "--namespace=kube-system")
    things = templated(helm, OPT_IN)
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        helm("install", "affinity-extender", *where, values=OPT_IN, chart=path)
        assert [thing for thing in things if not await there(api, thing)] == []
        helm("uninstall", "affinity-extender", *where, chart=None)
        assert [thing for thing in things if await there(api, thing)] == []


async def there(api: Api, thing: JSON) -> bool:
    """Tell whether the API server has the object."""
    try:
        await api.get(await path_of(api, thing))
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return False
    return True


def test_helm_s_own_lint_has_no_remark(helm: Helm) -> None:
    for values in (*VALUES.values(), *COMPONENTS.values()):
        said = helm("lint", "--strict", values=values)
        assert "0 chart(s) failed" in said
        assert re.findall(r"\[(?:WARNING|ERROR)\].*", said) == []


REPLACE: JSON = {"mode": "replace"}
SERVICE: JSON = {"form": "service"}
QUOTAS_ALONE = {"plugins": ["CrossNamespacePodAffinity"]}
NODES_TOO = {"plugins": ["InterPodAffinity", "NodeAffinity"]}
OURS = {"schedulerName": "affinity-scheduler"}
OURS_OFF = OURS | {"plugins": {"multiPoint": {"disabled": [{"name": "*"}]}}}
OF_GROUPS = {"schedulerName": "groups"}
NAME = "app.kubernetes.io/name"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SPREAD: JSON = {"topologyKey": ZONE, "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}
OF_PODS: JSON = {
    "extraArgs": ["--v=4", "--logging-format=text"],
    "podAnnotations": {"example.com/owner": "a"},
    "podLabels": {"team": "a"},
    "nodeSelector": {"pool": "system"},
    "tolerations": [{"key": "pool", "operator": "Equal", "value": "a", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}
                ]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "podAffinityTerm": {
                        "topologyKey": HOST,
                        "labelSelector": {"matchLabels": {"team": "a"}},
                    },
                }
            ],
        },
    },
    "topologySpreadConstraints": [SPREAD],
    "priorityClassName": "mine",
}
"""A value for each that is about the pods."""


def fields(path: str, value: Any = True) -> JSON:  # noqa: FBT002 - most are switched on
    """Return values with one field, by its path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return dict(value)


CONTRADICTIONS: list[tuple[str, JSON]] = [
    ("/mode", {"mode": "asist"}),
    ("runbooks", {"monitoring": {"runbooks": "docs"}}),
    ("imgae", {"imgae": {}}),
    ("/mode", {"form": "k3s", "mode": "replace"}),
    ("/mode", SERVICE | {"mode": "replace"}),
    ("hintz", fields("config.hintz", {})),
    ("perSecnd", fields("config.hints.perSecnd", 1)),
    ("/config/prioritize/maxScore", fields("config.prioritize.maxScore", 101)),
    ("matchLabel", fields("annotations.namespaceSelector.matchLabel", {})),
    ("/image/digest", fields("image.digest", "sha256:12")),
    ("/extraArgs/0", {"extraArgs": ["--mode=replace"]}),
    ("/nodeSelector/pool", fields("nodeSelector.pool", 1)),
    ("efect", {"tolerations": [{"efect": "NoSchedule"}]}),
    ("topologykey", fields("affinity.podAntiAffinity", {REQUIRED: [{"topologykey": HOST}]})),
    ("nodeSelectorTerm", fields(f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerm", [])),
    ("maxSkew", {"topologySpreadConstraints": [SPREAD | {"maxSkew": 0}]}),
    ("minDomain", {"topologySpreadConstraints": [SPREAD | {"minDomain": 2}]}),
    *(
        (f"/{where}/app.kubernetes.io~1name", fields(where.replace("/", "."), {NAME: "mine"}))
        for where in ("podLabels", "service/labels")
    ),
    ("service:", fields("service.labels.team", "a")),
    ("service:", {"form": "k3s"} | fields("service.annotations.team", "a")),
    ("topologySpreadConstraints:", {"form": "k3s", "topologySpreadConstraints": [SPREAD]}),
    *((f"{name}:", {"form": "kubeadm", name: value}) for name, value in OF_PODS.items()),
    ("namespaceOptIn.enabled", {"form": "kubeadm"} | OPT_IN),
    ("groups.enabled", {"groups": {"enabled": True}}),
    ("config:", {"form": "kubeadm"} | fields("config.logging.verbosity", 3)),
    ("scheduler.config:", {"form": "k3s"} | fields("scheduler.config.parallelism", 3)),
    *(
        (f"config.{path}:", fields(f"config.{path}", value))
        for path, value in (
            ("mode", "replace"),
            ("annotations", {"namespaceSelector": {}}),
            ("profiles", []),
            ("crossNamespacePodAffinity.limitedByDefault", True),
            ("crossNamespacePodAffinity.admissionControlConfigFile", "/a"),
            ("clientConnection.kubeconfig", "/a"),
            ("clientConnection.context", "a"),
            ("clusterFiles", ["/a"]),
            ("requiredDuringExecution.leaseName", "a"),
            ("requiredDuringExecution.leaseNamespace", "a"),
            ("serving.port", 10290),
            ("serving.opsPort", 10290),
            ("serving.bindAddress", "0.0.0.0"),
            ("serving.insecureServing", True),
            ("serving.tlsCertFile", "/a"),
            ("serving.opsBindAddress", "127.0.0.1"),
            ("requiredDuringExecution.enabled", True),
            ("preferredDuringExecution.enabled", True),
            ("scaleDown.enabled", True),
            ("preemption.enabled", True),
            ("hints.enabled", True),
            ("plugins", ["InterPodAffinity", "CrossNamespacePodAffinity"]),
            ("schedulerVersion", "1.38"),
        )
    ),
    (
        "config.scaleDown.enabled:",
        {"mode": "shadow", "scaleDown": {"enabled": True}} | fields("config.scaleDown.enabled"),
    ),
    ("config.plugins:", QUOTA | {"config": {"plugins": ["InterPodAffinity"]}}),
    ("quota.limitedByDefault:", {"quota": {"limitedByDefault": True}}),
    ("scheduler.config.extenders:", fields("scheduler.config.extenders", [])),
    ("scheduler.config.leaderElection:", fields("scheduler.config.leaderElection.leaderElect")),
    ("scheduler.config.profiles:", fields("scheduler.config.profiles", [{"schedulerName": "a"}])),
    ("scheduler.config.profiles:", fields("scheduler.config.profiles", [OURS])),
    *(
        ("scheduler.config.profiles:", REPLACE | fields("scheduler.config.profiles", each))
        for each in ([OURS, OF_GROUPS], [OURS_OFF])
    ),
    (
        "scheduler.config.profiles:",
        {"mode": "shadow"}
        | fields("scheduler.config.profiles", [OURS, {"schedulerName": "default-scheduler"}]),
    ),
]


@pytest.mark.parametrize(
    ("named", "values"), CONTRADICTIONS, ids=[f"{name} {of}" for name, of in CONTRADICTIONS]
)
def test_values_that_contradict_one_another_are_refused_by_name(
    helm: Helm, named: str, values: JSON
) -> None:
    said = helm("template", "affinity-extender", *OF_CLUSTER, values=values, code=1)
    assert named in said


@pytest.mark.parametrize(
    "command", [["template", "x"], ["lint"], ["install", "x", "--dry-run=client"]], ids=" ".join
)
def test_each_command_names_a_field_that_the_program_does_not_have(
    helm: Helm, command: list[str]
) -> None:
    said = helm(*command, values=fields("config.hints.perSecnd", 1), code=1)
    assert "at '/config/hints': additional properties 'perSecnd' not allowed" in said


@pytest.mark.parametrize("name", ["a" * 38, "a.b", "2nd"])
def test_a_name_that_no_service_can_have_is_refused(helm: Helm, name: str) -> None:
    assert "the name of the release" in helm("template", name, *OF_CLUSTER, code=1)
    helm("template", "a" * 37, *OF_CLUSTER)


def test_before_policies_nobody_may_patch_pods(helm: Helm) -> None:
    old = ("template", "affinity-extender", "--kube-version=v1.29.3")
    off: JSON = {"annotationPolicy": {"enabled": False}}
    assert "AdmissionPolicy" not in helm(*old, values=off)
    said = helm(*old, values=off | {"scaleDown": {"enabled": True}}, code=1)
    assert "scaleDown.enabled: needs Kubernetes 1.30" in said
    assert "annotationPolicy.enabled: needs Kubernetes 1.30" in helm(*old, code=1)


def test_before_policies_that_write_there_are_no_exclusive_domains(helm: Helm) -> None:
    values: JSON = {"exclusive": {"enabled": True}}
    for name, each in (("exclusive", values), ("groups", GROUPS)):
        said = helm("template", "x", "--kube-version=v1.35.2", values=each, code=1)
        assert f"{name}.enabled: needs Kubernetes 1.36" in said
    helm("template", "x", "--kube-version=v1.36.0-gke.1", values=values)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(
            {"moving": {"enabled": True}, "scaleDown": {"enabled": True}}
            | {
                "config": {
                    name: {"enabled": True}
                    for name in (
                        "requiredDuringExecution",
                        "preferredDuringExecution",
                        "scaleDown",
                    )
                }
            },
            id="features with their rights",
        ),
        pytest.param(REPLACE | fields("config.hints.enabled"), id="hints in replace"),
        pytest.param(
            QUOTA | {"config": {"plugins": ["CrossNamespacePodAffinity"]}}, id="quotas alone"
        ),
        pytest.param(fields("config.serving.opsBindAddress", "::"), id="IPv6"),
        pytest.param(SERVICE | fields("config.serving.bindAddress", "::"), id="IPv6, both"),
        pytest.param(
            {"form": "k3s"} | fields("config.serving.opsBindAddress", "127.0.0.1"), id="a host"
        ),
        pytest.param(fields("config.schedulerVersion", KUBERNETES[:4]), id="its own version"),
        pytest.param(
            {"mode": "shadow"} | fields("scheduler.config.profiles", [OURS]), id="a profile"
        ),
    ],
)
def test_what_fits_together_renders_and_the_program_takes_it(helm: Helm, values: JSON) -> None:
    found = compared(templated(helm, values))
    config = found["ConfigMap", "kube-system", "affinity-extender-config"]["data"]
    assert list(faults(decode(config))) == []


INTER_POD, NODE = "InterPodAffinity", "NodeAffinity"
BOTH = [INTER_POD, NODE]


@pytest.mark.parametrize(
    ("mode", "plugins", "off"),
    [
        ("assist", BOTH, {"preScore": BOTH, "score": BOTH}),
        ("assist", [INTER_POD], {"preScore": [INTER_POD], "score": [INTER_POD]}),
        (
            "replace",
            BOTH,
            {"multiPoint": [INTER_POD], "filter": [NODE], "preScore": [NODE], "score": [NODE]},
        ),
        ("replace", [INTER_POD], {"multiPoint": [INTER_POD]}),
        ("shadow", BOTH, {}),
        *((mode, QUOTAS_ALONE["plugins"], {}) for mode in ("assist", "replace", "shadow")),
    ],
)
def test_what_the_extender_does_the_scheduler_leaves(
    helm: Helm, mode: str, plugins: list[str], off: dict[str, list[str]], tmp_path: Path
) -> None:
    quota = {"quota": {"enabled": plugins == QUOTAS_ALONE["plugins"]}}
    values = {"mode": mode, "config": {"plugins": plugins}} | quota
    found = compared(templated(helm, values))
    of_scheduler, of_extender = (
        found["ConfigMap", "kube-system", f"affinity-{part}-config"]["data"]
        for part in ("scheduler", "extender")
    )
    profile, *others = of_scheduler["profiles"]
    assert others == [OF_GROUPS] * (mode == "replace")
    disabled = {
        point: [one["name"] for one in each["disabled"]]
        for point, each in profile.get("plugins", {}).items()
    }
    assert disabled == off
    # Given back as values, it is what the chart asks for; and lint has nothing against it.
    helm(
        "template",
        "affinity-extender",
        *OF_CLUSTER,
        values=values | fields("scheduler.config.profiles", [profile, *others]),
    )
    for name, each in (("scheduler", of_scheduler), ("extender", of_extender)):
        (tmp_path / f"{name}.yaml").write_text(yaml.dump(each))
    config = f"--config={tmp_path / 'extender.yaml'}"
    assert cli.main(["lint", str(tmp_path / "scheduler.yaml"), config]) == 0


@pytest.mark.parametrize(
    ("mode", "version", "percentages"),
    [("replace", "1.38", [100]), ("replace", "1.37", []), ("assist", "1.38", [])],
)
def test_a_scheduler_that_preempts_for_the_extender_looks_at_all_nodes(
    helm: Helm, mode: str, version: str, percentages: list[int], tmp_path: Path
) -> None:
    tag = {"scheduler": {"image": {"tag": f"v{version}.0"}}}
    found = compared(
        templated(helm, {"mode": mode, "config": {"schedulerVersion": version}, **tag})
    )
    paths = []
    for part in ("scheduler", "extender"):
        data = found["ConfigMap", "kube-system", f"affinity-{part}-config"]["data"]
        paths.append(tmp_path / f"{part}.yaml")
        paths[-1].write_text(yaml.dump(data))
    profile, *_ = yaml.safe_load(paths[0].read_text())["profiles"]
    given = [each["args"] for each in profile.get("pluginConfig", ())]
    assert [each["minCandidateNodesPercentage"] for each in given] == percentages
    assert cli.main(["lint", str(paths[0]), f"--config={paths[1]}"]) == 0


@pytest.mark.parametrize("form", ["sidecar", "k3s"])
@pytest.mark.parametrize("version", [*SCHEDULER_VERSIONS, "1.99"])
def test_the_extender_is_told_which_release_the_scheduler_of_the_cluster_is(
    helm: Helm, version: str, form: str
) -> None:
    where = ("--namespace=kube-system", f"--kube-version=v{version}.2")
    text = helm("template", "affinity-extender", *where, values={"form": form})
    found = compared([one for one in yaml.safe_load_all(text) if one])
    config = decode(found["ConfigMap", "kube-system", "affinity-extender-config"]["data"])
    assert config.scheduler_version == (version if version in SCHEDULER_VERSIONS else "1.37")


EVERYTHING: JSON = {
    "mode": "replace",
    "annotations": {"namespaceSelector": {}},
    "moving": {"enabled": True},
    "scaleDown": {"enabled": True},
    "monitoring": {"enabled": True},
    **QUOTA,
    **OPT_IN,
    **GROUPS,
}
MORE = ("groups", "affinity", "second-affinity-extender", "affinity-scheduler")


def released(helm: Helm, name: str, values: JSON, namespace: str = "kube-system") -> list[JSON]:
    where = (f"--namespace={namespace}", f"--kube-version=v{KUBERNETES}")
    text = helm("template", name, *where, values=values)
    return [one for one in yaml.safe_load_all(text) if one]


@pytest.mark.parametrize("form", ["sidecar", "service", "k3s", "kubeadm"])
def test_releases_in_one_namespace_do_not_meet(helm: Helm, form: str) -> None:
    values = EVERYTHING | {"form": form}
    if form in {"service", "k3s"}:
        values |= {"mode": "assist", "groups": {"enabled": False}}
    if form in {"k3s", "kubeadm"}:
        values["namespaceOptIn"] = {"enabled": False}
    seen: dict[tuple[str, str], str] = {}
    pods: list[dict[str, str]] = []
    selectors: list[dict[str, str]] = []
    for name in ("affinity-extender", *MORE):
        objects = released(helm, name, values)
        for one in objects:
            key = one["kind"], one["metadata"]["name"]
            assert key not in seen, f"{key} of {name} and of {seen[key]}"
            seen[key] = name
        template = [one["spec"]["template"] for one in objects if "template" in one.get("spec", {})]
        mine = [one["metadata"]["labels"] for one in template]
        wanted = list(_selectors(objects))
        for selector in wanted:
            assert not [labels for labels in pods if selector.items() <= labels.items()]
        for selector in selectors:
            assert not [labels for labels in mine if selector.items() <= labels.items()]
        pods += mine
        selectors += wanted


def _selectors(objects: list[JSON]) -> Iterator[dict[str, str]]:
    """Yield whatever finds pods by their labels."""
    for one in objects:
        if one["kind"] == "Service":
            yield one["spec"]["selector"]
        elif one["kind"] not in {"ServiceMonitor", "ClusterRole"}:
            for name in ("selector", "podSelector"):
                if name in one.get("spec", {}):
                    yield one["spec"][name]["matchLabels"]


def test_each_release_has_its_scheduler_lease_accounts_and_label(helm: Helm) -> None:
    told: dict[str, set[str]] = {}
    for name in ("affinity-extender", *MORE):
        objects = released(helm, name, EVERYTHING)
        (profile,) = {
            yaml.safe_load(one["data"]["config.yaml"])["profiles"][0]["schedulerName"]
            for one in objects
            if "affinity-scheduler-config-" in one["metadata"]["name"]
        }
        (config,) = (
            decode(yaml.safe_load(one["data"]["config.yaml"]))
            for one in objects
            if "affinity-extender-config-" in one["metadata"]["name"]
        )
        lease = lease_name(config).name
        leases = {
            resource
            for one in objects
            for rule in one.get("rules", ())
            if "leases" in rule["resources"]
            for resource in rule.get("resourceNames", ())
        }
        assert leases == {lease, profile}
        groups, policy = (one for one in objects if one["kind"] == "MutatingAdmissionPolicy")
        (of_groups,) = left_to_scheduler(config)
        label: JSON = {}
        for one, chosen in ((groups, of_groups), (policy, profile)):
            assert f"'{chosen}'" in str(one["spec"]["mutations"])
            label |= one["spec"]["matchConstraints"]["namespaceSelector"]["matchLabels"]
        subjects = {each["name"] for one in objects for each in one.get("subjects", ())}
        accounts = {one["metadata"]["name"] for one in objects if one["kind"] == "ServiceAccount"}
        assert subjects == accounts
        (writes,) = (
            one
            for one in objects
            if one["kind"] == "ValidatingAdmissionPolicy"
            and one["metadata"]["name"].endswith("-writes")
        )
        (condition,) = writes["spec"]["matchConditions"]
        assert condition["expression"].removeprefix("request.userInfo.username == ") in {
            f"'system:serviceaccount:kube-system:{account}'" for account in accounts
        }
        for kind, value in (
            ("scheduler", profile),
            ("lease", lease),
            ("profile for groups", of_groups),
            ("label", str(label)),
            ("account", str(sorted(accounts))),
        ):
            told.setdefault(kind, set()).add(value)
    assert {len(values) for values in told.values()} == {1 + len(MORE)}


async def test_two_releases_live_in_one_cluster(
    helm: Helm, cluster: ControlPlane, tmp_path: Path
) -> None:
    path = tmp_path / "chart.tgz"
    path.write_bytes(package())
    values = EVERYTHING | {"monitoring": {"enabled": False}}  # of an API that is not installed
    where = (f"--kubeconfig={cluster.kubeconfig(ADMIN)}", "--namespace=kube-system")
    names = ("affinity-extender", "groups")
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        for name in names:
            helm("install", name, *where, values=values, chart=path)
        for name in names:
            things = released(helm, name, values)
            assert [thing for thing in things if not await there(api, thing)] == []
        for name in names:
            helm("uninstall", name, *where, chart=None)


@pytest.mark.parametrize("name", ["affinity-extender", "groups"])
def test_in_another_namespace_the_leases_are_where_the_rights_are(helm: Helm, name: str) -> None:
    objects = released(helm, name, EVERYTHING, "elsewhere")
    config, scheduler = (
        yaml.safe_load(one["data"]["config.yaml"])
        for part in ("extender", "scheduler")
        for one in objects
        if one["kind"] == "ConfigMap" and f"affinity-{part}-config-" in one["metadata"]["name"]
    )
    election = scheduler["leaderElection"]
    keys = {
        "affinity-extender": lease_key(decode(config | fields("scaleDown.enabled")), "elsewhere"),
        "affinity-scheduler": f"{election['resourceNamespace']}/{election['resourceName']}",
    }
    prefix = "" if name == "affinity-extender" else f"{name}-"
    for account, key in keys.items():
        for verb in ("get", "update"):
            assert allows(objects, prefix + account, verb, "leases", str(key))


def test_where_annotations_count_the_chart_gives_the_rights_and_has_filter_asked(
    helm: Helm,
) -> None:
    values: JSON = {"annotations": {"namespaceSelector": {}}}
    found = compared(templated(helm, values))
    extender = found["ConfigMap", "kube-system", "affinity-extender-config"]["data"]
    assert extender["annotations"] == {"namespaceSelector": {}}
    scheduler = found["ConfigMap", "kube-system", "affinity-scheduler-config"]["data"]
    (entry,) = scheduler["extenders"]
    assert {"filterVerb", "preemptVerb"} <= entry.keys()
    assert not entry["ignorable"], "no pod is placed without these rules"
    rights = list(yaml.safe_load_all((MANIFESTS / "components/annotations/rbac.yaml").read_text()))
    name = rights[0]["metadata"]["name"]
    assert found["ClusterRole", "", name]["rules"] == rights[0]["rules"]
    assert ("ClusterRoleBinding", "", name) in found
    assert ("ClusterRole", "", name) not in compared(templated(helm, {}))


def test_without_its_policy_the_chart_is_as_it_is_otherwise(helm: Helm) -> None:
    found = compared(templated(helm, {}))
    off = compared(templated(helm, {"annotationPolicy": {"enabled": False}}))
    assert {kind for kind, *_ in found.keys() - off.keys()} == {
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }


@pytest.mark.parametrize(
    ("served", "version"),
    [
        pytest.param("v1beta1", "v1beta1", id="Kubernetes 1.34"),
        pytest.param("v1", "v1", id="Kubernetes 1.36"),
    ],
)
def test_namespaces_are_opted_in_by_the_api_that_the_cluster_has(
    helm: Helm, served: str, version: str
) -> None:
    group = "admissionregistration.k8s.io"
    api = f"--api-versions={group}/{served}/MutatingAdmissionPolicy"
    text = helm("template", "x", "--namespace=scheduling", api, values=OPT_IN)
    policy = compared(list(yaml.safe_load_all(text)))[
        "MutatingAdmissionPolicy", "", "x-affinity-scheduler-namespaces"
    ]
    assert policy["apiVersion"] == f"{group}/{version}"
    (name,) = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert name["values"] == ["kube-system", "scheduling"], "where the second scheduler itself is"


@pytest.mark.parametrize(
    ("values", "folder"),
    [
        ({"exclusive": {"enabled": True}}, "exclusive"),
        (GROUPS, "groups/policy"),
    ],
)
def test_policies_are_those_of_the_component(helm: Helm, values: JSON, folder: str) -> None:
    plain = compared(templated(helm, {"mode": values.get("mode", "assist")}))
    found = compared(templated(helm, values))
    policies = (MANIFESTS / f"components/{folder}/policy.yaml").read_text()
    assert {key: one for key, one in found.items() if key not in plain} == compared(
        list(yaml.safe_load_all(policies))
    )


POD = {"apiVersion": "v1", "kind": "Pod"}


def pod_specs(objects: list[JSON]) -> dict[str, JSON]:
    """Return the template of the pods of each workload, by its kind and name."""
    return {
        f"{one['kind']} {one['metadata']['name']}": one["spec"]["template"]
        for one in objects
        if "template" in one.get("spec", {})
    }


@pytest.mark.parametrize(
    ("form", "workloads"),
    [
        ("sidecar", {"Deployment affinity-scheduler"}),
        ("service", {"Deployment affinity-scheduler", "Deployment affinity-extender"}),
        ("k3s", {"DaemonSet affinity-extender"}),
    ],
)
def test_all_pods_are_where_the_values_say_and_carry_what_they_say(
    helm: Helm, form: str, workloads: set[str]
) -> None:
    values = {name: of for name, of in OF_PODS.items() if form != "k3s" or "Spread" not in name}
    plain, found = (pod_specs(templated(helm, {"form": form} | each)) for each in ({}, values))
    assert found.keys() == plain.keys() == workloads
    for name, template in found.items():
        kubernetes_validate.validate(template | POD, KUBERNETES[:4], strict=True)
        before, spec = plain[name]["spec"], template["spec"]
        labels = plain[name]["metadata"]["labels"]
        assert template["metadata"] == {
            "labels": labels | OF_PODS["podLabels"],
            "annotations": OF_PODS["podAnnotations"],
        }
        assert spec["nodeSelector"] == before["nodeSelector"] | OF_PODS["nodeSelector"]
        assert spec["tolerations"] == before.get("tolerations", []) + OF_PODS["tolerations"]
        assert (spec["affinity"], spec["priorityClassName"]) == (OF_PODS["affinity"], "mine")
        arguments = [
            (one["args"], each["args"])
            for part in ("initContainers", "containers")
            for one, each in zip(before.get(part, ()), spec.get(part, ()), strict=True)
            if one["name"] == "affinity-extender"
        ]
        assert [each for one, each in arguments] == [
            one + OF_PODS["extraArgs"] for one, _ in arguments
        ]
        if form != "k3s":
            (constraint,) = spec["topologySpreadConstraints"]
            own = before["topologySpreadConstraints"][0]["labelSelector"]
            assert constraint == SPREAD | {"labelSelector": own}
        for _, each in arguments:
            assert affinity_extender().parse(each).v == "4"
    assert sum("--v=4" in str(template) for template in found.values()) == 1


@pytest.mark.parametrize(
    ("path", "value", "reached"),
    [
        ("image.pullPolicy", "Always", ["imagePullPolicy: Always"] * 2),
        ("imagePullSecrets", [{"name": "mine"}], ["imagePullSecrets:", "name: mine"]),
        ("resources.limits.memory", "3Gi", ["memory: 3Gi"]),
        ("scheduler.image.repository", "example.com/s", [f"image: example.com/s:v{KUBERNETES}"]),
        ("scheduler.resources.limits.memory", "3Gi", ["memory: 3Gi"]),
        ("replicas", 3, ["replicas: 3"]),
        ("prometheusNamespace", "123", ['kubernetes.io/metadata.name: "123"']),
        ("priorityClassName", "1e3", ['priorityClassName: "1e3"']),
    ],
)
def test_a_value_reaches_its_fields(helm: Helm, path: str, value: Any, reached: list[str]) -> None:
    text = helm("template", "affinity-extender", *OF_CLUSTER, values=fields(path, value))
    changed = set(text.splitlines()) - set(
        helm("template", "affinity-extender", *OF_CLUSTER).splitlines()
    )
    wanted = [line.strip(" -") for line in text.splitlines() if line in changed]
    assert wanted == reached


def test_constraints_may_have_their_own_selector_and_may_be_none(helm: Helm) -> None:
    mine = SPREAD | {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    for given in ([mine], []):
        values = {"topologySpreadConstraints": given}
        (template,) = pod_specs(templated(helm, values)).values()
        assert template["spec"].get("topologySpreadConstraints", []) == given


def test_the_service_carries_what_the_values_say(helm: Helm) -> None:
    of_service = {"annotations": {"example.com/a": "b"}, "labels": {"team": "a"}}
    key = "Service", "kube-system", "affinity-extender"
    plain, found = (
        compared(templated(helm, SERVICE | each))[key] for each in ({}, {"service": of_service})
    )
    plain["metadata"]["labels"] |= of_service["labels"]
    assert found == plain | {
        "metadata": plain["metadata"] | {"annotations": of_service["annotations"]}
    }


DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param({}, f"affinity-extender:{__version__}", id="by default, the version"),
        pytest.param({"tag": "9.9.9"}, "affinity-extender:9.9.9", id="a tag"),
        pytest.param({"digest": DIGEST}, f"affinity-extender@{DIGEST}", id="a digest"),
        pytest.param(
            {"tag": "9.9.9", "digest": DIGEST},
            f"affinity-extender@{DIGEST}",
            id="a digest wins over a tag",
        ),
    ],
)
def test_the_image_of_the_extender(helm: Helm, image: JSON, expected: str) -> None:
    scheduler = {"scheduler": {"image": {"tag": f"v{KUBERNETES}@{DIGEST}"}}}
    (template,) = pod_specs(templated(helm, {"image": image} | scheduler)).values()
    sidecars = [each["image"] for each in template["spec"]["initContainers"]]
    assert sidecars == [expected] * 2
    (container,) = template["spec"]["containers"]
    assert container["image"] == f"registry.k8s.io/kube-scheduler:v{KUBERNETES}@{DIGEST}"


def test_what_artifact_hub_is_told_is_what_the_chart_has(helm: Helm) -> None:
    chart = read_yaml(CHART / "Chart.yaml")
    told = {
        name.removeprefix("artifacthub.io/"): yaml.safe_load(of)
        for name, of in chart["annotations"].items()
    }
    assert told["license"] == "Apache-2.0"
    assert told["prerelease"] is ("-" in __version__)
    (template,) = pod_specs(templated(helm, {})).values()
    used = {
        each["image"]
        for part in ("initContainers", "containers")
        for each in template["spec"][part]
    }
    assert {each["image"] for each in told["images"]} == used
    kinds = {"added", "changed", "deprecated", "removed", "fixed", "security"}
    assert {each["kind"] for each in told["changes"]} <= kinds
    assert all(each["description"] for each in told["changes"])
    assert all(each["url"].startswith("https://") for each in told["links"])


def test_values_reach_the_two_configurations(helm: Helm) -> None:
    values = {
        "image": {"repository": "example.com/affinity-extender", "tag": "9.9.9"},
        "config": {"interPodAffinity": {"hardPodAffinityWeight": 7}},
        "scheduler": {"config": {"parallelism": 4}},
    }
    found = compared(templated(helm, values))
    extender = found["ConfigMap", "kube-system", "affinity-extender-config"]["data"]
    assert extender["interPodAffinity"] == {"hardPodAffinityWeight": 7}
    scheduler = found["ConfigMap", "kube-system", "affinity-scheduler-config"]["data"]
    assert scheduler["parallelism"] == 4
    deployment = found["Deployment", "kube-system", "affinity-scheduler"]
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    assert pod["initContainers"][0]["image"] == "example.com/affinity-extender:9.9.9"


def test_alerts_lead_to_the_runbooks_at_a_url(helm: Helm) -> None:
    values = {"monitoring": {"enabled": True, "runbooks": RUNBOOKS}}
    found = compared(templated(helm, values))
    assert_runbooks_at_the_url(found["PrometheusRule", "kube-system", "affinity-extender"])


@pytest.mark.parametrize(
    ("cluster", "tag", "expected"),
    [
        pytest.param("v1.34.5-eks-1a2b3c4", "", "v1.34.5", id="the cluster's release"),
        pytest.param("v1.34.5+k3s1", "v1.36.0", "v1.36.0", id="another release"),
    ],
)
def test_the_scheduler_is_of_the_cluster_s_release(
    helm: Helm, cluster: str, tag: str, expected: str
) -> None:
    values = {"scheduler": {"image": {"tag": tag}}}
    text = helm("template", "affinity-extender", f"--kube-version={cluster}", values=values)
    assert f"image: registry.k8s.io/kube-scheduler:{expected}\n" in text


def test_another_namespace_is_everywhere(helm: Helm) -> None:
    objects = released(helm, "affinity-extender", {}, "scheduling")
    namespaces = {one["metadata"].get("namespace", "scheduling") for one in objects}
    subjects = {each["namespace"] for one in objects for each in one.get("subjects", ())}
    assert namespaces == subjects == {"scheduling"}


def test_the_notes_say_what_comes_next(helm: Helm) -> None:
    said = {
        form: helm(
            "install", "x", "--dry-run=client", "--namespace=kube-system", values={"form": form}
        )
        for form in ("sidecar", "service", "k3s", "kubeadm")
    }
    notes = {form: text.partition("NOTES:")[2] for form, text in said.items()}
    assert all(notes.values())
    assert len(set(notes.values())) == 4


def test_the_chart_has_the_version_of_the_program() -> None:
    chart = read_yaml(CHART / "Chart.yaml")
    assert [chart["version"], chart["appVersion"]] == [__version__] * 2
