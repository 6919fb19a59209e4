"""Claims whose volume one node, or one pod, has at a time, in a Deployment of several pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.patching import add
from affinityctl.commands.lint.template import Template
from affinityctl.scheduler.volumes.attaching import is_of_one_node
from affinityctl.scheduler.volumes.objects import READ_WRITE_ONCE_POD
from extender.core.model.labels import HOSTNAME

RECREATE: Final = {"type": "Recreate"}


def _held(template: Template) -> Iterator[Spot]:
    owner, ledger = template.owner, template.around.volumes
    rollout = owner.rollout
    replicas, surges = rollout.replicas or 0, rollout.rolling and rollout.surge > 0
    if owner.kind != "Deployment" or not (surges or replicas > 1):
        return
    together = _is_on_one_node(template)
    for path, name in template.claims:
        claim = ledger.claims.get(f"{owner.namespace}/{name}")
        if claim is None:
            continue
        alone = READ_WRITE_ONCE_POD in claim.spec.access_modes
        if not alone and (together or not is_of_one_node(ledger, claim)):
            continue
        whose = "one pod" if alone else "one node"
        then = "waits" if alone else "does not start on another node"
        what = f"claim {name} is for {whose} at a time"
        if replicas > 1:
            yield Spot(path, f"{what}, and there are {replicas:,} replicas")
        else:
            message = f"{what}: the new pod of an update {then} while the old one stays for it"
            yield Spot(path, message, (add("spec.strategy", RECREATE),))


def _is_on_one_node(template: Template) -> bool:
    one_node = template.around.nodes is not None and not template.eligible_nodes()[1:]
    return one_node or any(
        at.term.topology_key == HOSTNAME and template.matches_itself(at.term)
        for at in template.of(against=False)
    )


RULES: Final = (
    Rule(
        "claim-for-one-node",
        Level.WARNING,
        "Pods of a Deployment are to run beside each other, replicas or the old and the new ones "
        "of a rolling update, and have a claim that is ReadWriteOnce or ReadWriteOncePod.",
        "A pod on another node gets stuck in ContainerCreating, or waits, and a rolling update "
        "never ends: the old pod stays until the new one is ready.",
        "Set strategy: {type: Recreate}. Several replicas need a volume that is ReadWriteMany, or "
        "a StatefulSet with a claim for each.",
        _held,
    ),
)
