"""Containers can do little, and what surrounds them holds."""

from __future__ import annotations

from tests.deploy.pods import GetPod, containers, in_every_pod, second_scheduler

RESTRICTED_VOLUMES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"),
    *("projected", "secret"),
}
"""What the Pod Security standard `restricted` allows."""


@in_every_pod
def test_every_container_is_confined(get_pod: GetPod) -> None:
    for container in containers(get_pod()):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@in_every_pod
def test_nothing_runs_as_root(get_pod: GetPod) -> None:
    context = get_pod()["spec"]["securityContext"]
    without_group_of_secrets = {name: of for name, of in context.items() if name != "fsGroup"}
    assert without_group_of_secrets == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


@in_every_pod
def test_memory_is_bounded_and_cpu_is_not(get_pod: GetPod) -> None:
    for container in containers(get_pod()):
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert set(container["resources"]["limits"]) == {"memory"}


def test_the_second_scheduler_meets_the_restricted_standard() -> None:
    spec = second_scheduler()["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    for volume in spec["volumes"]:
        assert set(volume) - {"name"} <= RESTRICTED_VOLUMES
    ports = [
        port for container in containers(second_scheduler()) for port in container.get("ports", ())
    ]
    assert not any("hostPort" in port for port in ports)


@in_every_pod
def test_what_it_reads_it_cannot_write(get_pod: GetPod) -> None:
    mounts = [mount for container in containers(get_pod()) for mount in container["volumeMounts"]]
    written = {mount["name"] for mount in mounts if not mount.get("readOnly")}
    assert written <= {"extender-token"}, "which another container reads"


@in_every_pod
def test_it_is_critical(get_pod: GetPod) -> None:
    assert get_pod()["spec"]["priorityClassName"] in {
        "system-cluster-critical",
        "system-node-critical",
    }
