"""The requests of callbacks: read once the cluster is known, and prepared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.errors import ExtenderError
from extender.core.metrics import Metrics
from extender.core.model.objects import Pod
from extender.core.ports import Check, Hook
from extender.core.reading import ApartReader
from extender.core.warm_up import WarmUp
from extender.core.wire.extender_args import ExtenderArgs, open_args, read_envelope, read_names
from extender.core.wire.objects import PodReader


class NotReadyError(ExtenderError):
    """The cluster is not known yet, so any verdict would be a guess."""


class Requests:
    """What all callbacks share: the cluster, if it is known, and how requests about it are read.

    Filter and prioritize share what it remembers. RequestError is for bodies that no kube-scheduler
    sends, ObjectError for broken pods and nodes.
    """

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics,
        pods: ApartReader[PodReader],
        warm_up: WarmUp,
        unready: Check,
        *,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self.hooks: Final = hooks
        self.state: Final = state
        self.metrics: Final = metrics
        self.pods: Final = pods
        self.warm_up: Final = warm_up
        self.unready: Final = unready

    async def read(self, body: bytes) -> ExtenderArgs:
        """Read a request, a large one beside the event loop."""
        envelope = read_envelope(body)
        args = await self.pods.read(envelope.objects_bytes, partial(open_args, envelope))
        for hook in self.hooks:
            hook.asked(args.pod.spec.requirements.scheduler)
        self.check_ready()
        # As annotations count now; what changes in between is seen at the next call.
        if args.pod.spec.unannotated is None:
            return args
        return replace(args, pod=self.state.in_force(args.pod))

    def check_ready(self) -> None:
        """Raise NotReadyError unless everything that a verdict needs is known."""
        reason = self.unready()
        if reason is not None:
            raise NotReadyError(f"the extender is not ready: {reason}")

    async def prepare(self, pod: Pod) -> None:
        """Count what a pod is compared with, if that takes long; OverBudgetError if too long."""
        await self.warm_up.prepare(pod)
        self.check_ready()

    def asked(self, args: ExtenderArgs) -> NodeList:
        if args.node_names is not None:
            return self.state.nodes.asked(read_names(args.node_names))
        return self.state.nodes.asked(list(args.nodes or ()))
