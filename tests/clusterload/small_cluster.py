"""A cluster in the test's own process: pods get a node and run as soon as they are created."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from clusterload.workloads import Pod
from tests.kube.fake_api import FakeApi, failure
from tests.kube.pulse import Pulse

if TYPE_CHECKING:
    from tests.kube.fake_api import Collection, Json

PODS, NAMESPACES, NODES = "/api/v1/pods", "/api/v1/namespaces", "/api/v1/nodes"
DEPLOYMENTS, REPLICA_SETS = "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets"

_DISCOVERY = {
    "/api/v1": {"pods": "Pod", "namespaces": "Namespace"},
    "/apis/apps/v1": {"deployments": "Deployment", "replicasets": "ReplicaSet"},
}


class SmallCluster(FakeApi):
    """An API server with a scheduler, kubelets and a Deployment controller of a few lines.

    It knows no selectors: whoever asks gets everything.
    """

    def __init__(self) -> None:
        super().__init__(Pulse())
        self.places = True
        """Whether pods get a node and run."""
        self.refuses = ""
        """Objects with this in their name are refused."""
        self._uids = map(str, itertools.count(1))
        for path in (PODS, NAMESPACES, NODES, DEPLOYMENTS, REPLICA_SETS):
            self.collection(path)
        for name in ("n1", "n2"):
            self.collection(NODES).put({"metadata": {"name": name}, "spec": {}})
        tainted = {"taints": [{"key": "node-role.kubernetes.io/control-plane"}]}
        self.collection(NODES).put({"metadata": {"name": "n0"}, "spec": tainted})

    @property
    def pods(self) -> Collection:
        return self.collection(PODS)

    def names(self, path: str) -> list[str]:
        """Return the keys of what there is."""
        return sorted(self.collection(path).objects)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.path in _DISCOVERY:
            resources = [{"name": k, "kind": v} for k, v in _DISCOVERY[request.path].items()]
            return web.json_response({"resources": resources})
        return await super()._answer(request)

    async def write(self, request: web.Request) -> web.StreamResponse:
        """Create, change or delete an object."""
        path, namespace, name = _place(request.path, creating=request.method == "POST")
        body = json.loads(await request.text())
        if request.method == "POST":
            name = body["metadata"]["name"]
            if self.refuses and self.refuses in name:
                return failure(422, "Invalid", f"{name} is not wanted")
            self.create(path, body)
            return web.json_response(body, status=201)
        key = f"{namespace}/{name}" if namespace else name
        if key not in self.collection(path).objects:
            return failure(404, "NotFound", f"{key} not found")
        if request.method == "DELETE":
            self.remove(path, key)
            return web.json_response({"kind": "Status"})
        changed = self.collection(path).objects[key] | {"spec": body.get("spec", {})}
        changed["metadata"]["generation"] = changed["metadata"].get("generation", 1) + 1
        self.collection(path).put(changed)
        if path == DEPLOYMENTS:
            self._roll_out(changed)
        return web.json_response(changed)

    def create(self, path: str, obj: Json) -> None:
        """Take in an object, and do what its controllers do."""
        obj["metadata"] |= {"uid": next(self._uids), "generation": 1}
        self.collection(path).put(obj)
        if path == PODS:
            self._run(obj)
        if path == DEPLOYMENTS:
            self._roll_out(obj)

    def remove(self, path: str, key: str) -> None:
        """Delete an object and what it owns or holds."""
        gone = self.collection(path).objects[key]
        self.collection(path).delete(key)
        if path == NAMESPACES:
            for inner in (PODS, REPLICA_SETS, DEPLOYMENTS):
                for held in [each for each in self.names(inner) if each.startswith(f"{key}/")]:
                    self.remove(inner, held)
        for inner in (REPLICA_SETS, PODS):
            for held, obj in list(self.collection(inner).objects.items()):
                if _owner(obj) == gone["metadata"]["uid"]:
                    self.remove(inner, held)

    def _run(self, pod: Json) -> None:
        pod.setdefault("status", {"phase": "Pending"})
        if self.places:
            pod["spec"] = pod.get("spec", {}) | {"nodeName": "n1"}
            self.pods.put(pod)
            ready = [{"type": "Ready", "status": "True"}]
            pod["status"] = {"phase": "Running", "conditions": ready}
        self.pods.put(pod)

    def _roll_out(self, deployment: Json) -> None:
        """Replace what is there by a new set of pods."""
        metadata = deployment["metadata"]
        namespace, uid = metadata["namespace"], metadata["uid"]
        for key, old in list(self.collection(REPLICA_SETS).objects.items()):
            if _owner(old) == uid:
                self.remove(REPLICA_SETS, key)
        version = metadata["generation"]
        replica_set = _owned(f"{metadata['name']}-{version}", namespace, uid)
        replica_set["spec"] = deployment["spec"]
        self.create(REPLICA_SETS, replica_set)
        for index in range(deployment["spec"]["replicas"]):
            name = f"{replica_set['metadata']['name']}-{index}"
            pod = _owned(name, namespace, replica_set["metadata"]["uid"])
            pod["spec"] = dict(deployment["spec"]["template"]["spec"])
            self.create(PODS, pod)


def _owned(name: str, namespace: str, owner: str) -> Json:
    references = [{"uid": owner, "controller": True}]
    return {"metadata": {"name": name, "namespace": namespace, "ownerReferences": references}}


def _owner(obj: Json) -> Any:
    references = obj["metadata"].get("ownerReferences")
    return references[0]["uid"] if references else None


def _place(path: str, *, creating: bool) -> tuple[str, str, str]:
    """Take a path apart: the collection over all namespaces, the namespace, the name."""
    parts = path.split("/")
    name = "" if creating else parts.pop()
    namespace = ""
    if len(parts) > 1 and parts[-3:-2] == ["namespaces"]:
        namespace = parts.pop(-2)
        parts.pop(-2)
    return "/".join(parts), namespace, name


def kubeconfig(server: str) -> dict[str, Any]:
    """Build a kubeconfig for a cluster that asks for no credentials."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }


def seen(key: str = "a/p", phase: str = "Running", **changed: Any) -> Pod:
    """Build a pod as a watch sees it."""
    fields: dict[str, Any] = {
        "uid": "1",
        "owner": "",
        "node": "n1",
        "ready": True,
        "deleting": False,
        "stateless": True,
    }
    return Pod(key=key, phase=phase, **(fields | changed))
