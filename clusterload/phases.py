"""Creates, patches and deletes objects until there are as many as a phase asks for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from extender.core.errors import ExtenderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clusterload.objects import Kind, Objects
    from clusterload.progress import Progress
    from clusterload.schema import BundledObject, Phase
    from clusterload.templates import Templates, Values
    from clusterload.tuning import Action, Pacing

CLUSTER_SCOPE = ""


@dataclass(frozen=True, slots=True)
class _Key:
    """The replicas of one object template in one namespace."""

    namespace: str
    basename: str
    kind: Kind


class Phases:
    """Runs phases, and remembers how many replicas of each object the phases before left."""

    def __init__(
        self,
        *,
        objects: Objects,
        templates: Templates,
        values: Values,
        prefix: str,
        pacing: Pacing,
        progress: Progress,
    ) -> None:
        self._objects = objects
        self._templates = templates
        self._values = values
        self._prefix = prefix
        self._pacing = pacing
        self._progress = progress
        self._replicas: dict[_Key, int] = {}

    async def run(self, phase: Phase) -> list[str]:
        """Create, patch or delete objects up to the number of this phase; return the errors."""
        errors: list[str] = []
        actions: list[Action] = []
        keys: list[_Key] = []
        for namespace in self._namespaces(phase):
            bundle = [(each, self._key(namespace, each)) for each in phase.object_bundle]
            counts = {self._replicas.get(key, 0) for _, key in bundle}
            if len(counts) > 1:
                names = ", ".join(each.basename for each, _ in bundle)
                return [f"bundle error: there are different numbers of {names} in {namespace}"]
            if counts:
                actions += self._actions(phase, namespace, counts.pop(), errors)
            keys += [key for _, key in bundle]
        self._progress.expect(len(actions))
        await self._pacing.run(phase.tuning_set, actions)
        self._replicas |= dict.fromkeys(keys, phase.replicas_per_namespace)
        return errors

    def _namespaces(self, phase: Phase) -> list[str]:
        if phase.namespace_list:
            return phase.namespace_list
        if (numbers := phase.namespace_range) is None:
            return [CLUSTER_SCOPE]
        base = self._prefix if numbers.basename is None else numbers.basename
        return [f"{base}-{index}" for index in range(numbers.min, numbers.max + 1)]

    def _actions(
        self, phase: Phase, namespace: str, existing: int, errors: list[str]
    ) -> list[Action]:
        wanted = phase.replicas_per_namespace
        if wanted < existing:
            # The other way round than they were made.
            operate, bundle, indices = self._delete, phase.object_bundle[::-1], (wanted, existing)
        elif wanted == existing:
            operate, bundle, indices = self._patch, phase.object_bundle, (0, wanted)
        else:
            operate, bundle, indices = self._create, phase.object_bundle, (existing, wanted)
        return [
            partial(self._bundle, operate, bundle, namespace, index, errors)
            for index in range(*indices)
        ]

    async def _bundle(
        self,
        operate: Callable[[BundledObject, str, int], Awaitable[None]],
        bundle: list[BundledObject],
        namespace: str,
        index: int,
        errors: list[str],
    ) -> None:
        for each in bundle:
            try:
                await operate(each, namespace, index)
            except ExtenderError as error:
                errors.append(f"namespace {namespace} object {each.basename}-{index}: {error}")
                break
        self._progress.done()

    async def _create(self, each: BundledObject, namespace: str, index: int) -> None:
        for obj in self._filled_in(each, namespace, index):
            await self._objects.create(namespace, f"{each.basename}-{index}", obj)

    async def _patch(self, each: BundledObject, namespace: str, index: int) -> None:
        for obj in self._filled_in(each, namespace, index):
            await self._objects.patch(namespace, f"{each.basename}-{index}", obj)

    async def _delete(self, each: BundledObject, namespace: str, index: int) -> None:
        for kind in self._templates.kinds(each.object_template_path):
            await self._objects.delete(namespace, f"{each.basename}-{index}", kind)

    def _filled_in(self, each: BundledObject, namespace: str, index: int) -> list[dict[str, Any]]:
        values = self._values | each.template_fill_map
        values |= {"BaseName": each.basename, "Index": index, "Namespace": namespace}
        values["Name"] = f"{each.basename}-{index}"
        return self._templates.objects(each.object_template_path, values)

    def _key(self, namespace: str, each: BundledObject) -> _Key:
        kinds = self._templates.kinds(each.object_template_path)
        return _Key(namespace, each.basename, kinds[0])
