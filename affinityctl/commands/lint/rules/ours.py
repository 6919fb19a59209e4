"""The extender's own file, where it is valid and still hurts; containers; its rights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot, only_if
from affinityctl.commands.lint.rights import Granted, Rights
from affinityctl.commands.lint.template import Template
from extender.core.config import Config, Mode
from extender.core.config.checks import is_loopback
from extender.core.config.features import Help, features, gives, switch_of


def _spinning(config: Config) -> Iterator[Spot]:
    if config.filter.resolvable and not config.scheduler_takes_empty_victims:
        version = config.scheduler_version
        yield Spot("filter.resolvable", f"true, with schedulerVersion {version}")


def _anybody(config: Config) -> Iterator[Spot]:
    serving = config.serving
    if serving.insecure_serving and not is_loopback(serving.bind_address):
        yield Spot("serving.insecureServing", f"true on {serving.bind_address}")


def _any_certificate(config: Config) -> Iterator[Spot]:
    serving = config.serving
    any_name = serving.client_ca_file and not serving.allowed_client_names
    if any_name and not is_loopback(serving.bind_address):
        yield Spot("serving.allowedClientNames", f"empty on {serving.bind_address}")


_ROOM: Final = switch_of(Help.ROOM) or ""


def _no_preemption(config: Config) -> Iterator[Spot]:
    by_scheduler = config.scheduler_takes_empty_victims and config.resolves_refusals
    if config.mode is Mode.REPLACE and not (gives(config, Help.ROOM) or by_scheduler):
        yield Spot(_ROOM, "false in mode replace")


OF_CONFIG: Final = (
    Rule(
        "resolvable-refusals",
        Level.WARNING,
        "Refusals are reported as resolvable to a scheduler that retries them in a loop.",
        "Up to 1.37 the scheduler tries such a pod again at once, a hundred times a second.",
        "Leave filter.resolvable out.",
        _spinning,
    ),
    Rule(
        "callers-not-authenticated",
        Level.WARNING,
        "Callbacks are served off loopback without client certificates.",
        "Whoever reaches the port learns where pods are, and in mode replace binds them.",
        "Use serving.clientCAFile with serving.allowedClientNames, unless a service mesh "
        "authenticates callers.",
        _anybody,
    ),
    Rule(
        "any-client-certificate",
        Level.WARNING,
        "Every certificate of the client CA is accepted.",
        "A cluster's CA signs for each kubelet as well: every node could call the extender.",
        "Set serving.allowedClientNames: [system:kube-scheduler].",
        _any_certificate,
    ),
    *only_if(
        _ROOM,
        Rule(
            "preemption-off",
            Level.WARNING,
            "In mode replace, nobody preempts for affinity rules.",
            "Important pods wait behind less important ones.",
            f"Leave {_ROOM} out.",
            _no_preemption,
        ),
    ),
)


def _not_read(template: Template) -> Iterator[Spot]:
    for path, option in template.variables_not_read:
        yield Spot(f"{template.owner.path}.{path}", option.instead_of_variable)


_GONE_SINCE: Final = 38
_GONE: Final = """
    AggregatedDiscoveryRemoveBetaType AllowOverwriteTerminationGracePeriodSeconds
    DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
    InPlacePodVerticalScaling JobManagedBy KubeletTracing MatchLabelKeysInPodAffinity
    MultiCIDRServiceAllocator NFTablesProxyMode NodeSwap PodGroupPreemptionPolicy
    PodSchedulingReadiness PreferSameTrafficDistribution RecoverVolumeExpansionFailure
    SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
    ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo
    SupplementalGroupsPolicy WinDSR WinOverlay WindowsHostNetwork
"""
"""The gates that kube-scheduler 1.37 knows and 1.38 does not."""


def _gone(template: Template) -> Iterator[Spot]:
    for path, name, minor in template.gates:
        if name in _GONE.split() and (minor or template.around.scheduler_minor or 0) >= _GONE_SINCE:
            yield Spot(f"{template.owner.path}.{path}", name)


OF_CONTAINER: Final = (
    Rule(
        "gate-removed",
        Level.ERROR,
        "A container of kube-scheduler sets a feature gate that its release no longer has.",
        "kube-scheduler does not start.",
        "Leave the gate out before the update to 1.38: what it switched is always on, or gone.",
        _gone,
    ),
    Rule(
        "variable-not-read",
        Level.ERROR,
        "A container sets an environment variable that the extender no longer reads.",
        "The extender does not start with it.",
        "Give the flag, or the field of the configuration file, that the finding names.",
        _not_read,
    ),
)


def _missing(rights: Rights) -> Iterator[Spot]:
    for right in rights.missing():
        yield Spot("rules", f"no right to {right}")


def _wide(role: Granted) -> Iterator[Spot]:
    for index, rule in enumerate(role.rules):
        if rule.is_wide:
            yield Spot(f"rules[{index}]", "a wildcard")


def _idle(role: Granted) -> Iterator[Spot]:
    for index, right in role.idle():
        yield Spot(f"rules[{index}]", f"the right to {right} in mode {role.config.mode}")


_GIVING: Final = [each.component for each in features() if each.rights]
_COMPONENTS: Final = " or ".join(filter(None, (", ".join(_GIVING[:-1]), *_GIVING[-1:])))
"""Those with rights."""

OF_RIGHTS: Final = (
    Rule(
        "right-missing",
        Level.ERROR,
        "The extender lacks a right that its configuration needs.",
        "Without list and watch it never becomes ready; without the others binds, hints or "
        "preemption fail.",
        f"Apply the component of manifests/components that has it: {_COMPONENTS}.",
        _missing,
    ),
)
OF_ROLE: Final = (
    Rule(
        "right-too-wide",
        Level.WARNING,
        "A role of the extender has a wildcard.",
        "Whoever gets hold of its token can do far more than it needs.",
        "Name groups, resources and verbs, as manifests/base/rbac.yaml does.",
        _wide,
    ),
    Rule(
        "right-without-use",
        Level.WARNING,
        "The extender may change or read what its configuration never does.",
        "An account that may bind can place any pod anywhere. Only mode replace binds and "
        "preempts, budgets are read by it and by what evicts, and a feature that is off needs no "
        "right.",
        f"Leave out the components {_COMPONENTS}.",
        _idle,
    ),
)
