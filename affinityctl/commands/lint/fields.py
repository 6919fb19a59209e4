"""The fields of manifests and their types, as Kubernetes 1.37 has them.

Of what lint does not speak of, the names alone: they tell a field that is misspelt or misplaced.
tests/e2e compares the table with what an API server says of its types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

_TABLE: Final = """
Pod: metadata=ObjectMeta spec=PodSpec! status apiVersion kind
Deployment: metadata=ObjectMeta spec=DeploymentSpec! status apiVersion kind
ReplicaSet: metadata=ObjectMeta spec=ReplicaSetSpec! status apiVersion kind
StatefulSet: metadata=ObjectMeta spec=StatefulSetSpec! status apiVersion kind
DaemonSet: metadata=ObjectMeta spec=DaemonSetSpec! status apiVersion kind
ReplicationController: metadata=ObjectMeta spec=ReplicationControllerSpec! status apiVersion kind
Job: metadata=ObjectMeta spec=JobSpec! status apiVersion kind
CronJob: metadata=ObjectMeta spec=CronJobSpec! status apiVersion kind
PodDisruptionBudget: metadata=ObjectMeta spec=PodDisruptionBudgetSpec status apiVersion kind

DeploymentSpec: replicas=count selector=LabelSelector template=PodTemplateSpec!
  strategy=DeploymentStrategy minReadySeconds=count paused=bool progressDeadlineSeconds=count
  revisionHistoryLimit=count
ReplicaSetSpec: replicas=count selector=LabelSelector template=PodTemplateSpec!
  minReadySeconds=count
StatefulSetSpec: replicas=count selector=LabelSelector template=PodTemplateSpec!
  updateStrategy=StatefulSetUpdateStrategy minReadySeconds=count revisionHistoryLimit=count
  podManagementPolicy=|OrderedReady|Parallel serviceName=str volumeClaimTemplates ordinals
  persistentVolumeClaimRetentionPolicy
DaemonSetSpec: selector=LabelSelector template=PodTemplateSpec!
  updateStrategy=DaemonSetUpdateStrategy minReadySeconds=count revisionHistoryLimit=count
ReplicationControllerSpec: replicas=count selector={str template=PodTemplateSpec!
  minReadySeconds=count
JobSpec: parallelism=count completions=count selector=LabelSelector template=PodTemplateSpec!
  suspend=bool manualSelector=bool completionMode=NonIndexed|Indexed activeDeadlineSeconds=int64
  backoffLimit=count backoffLimitPerIndex=count managedBy=str maxFailedIndexes=count
  podFailurePolicy podReplacementPolicy=str scheduling successPolicy ttlSecondsAfterFinished=count
CronJobSpec: jobTemplate=JobTemplateSpec! schedule=str suspend=bool timeZone=str
  concurrencyPolicy=|Allow|Forbid|Replace failedJobsHistoryLimit=count
  successfulJobsHistoryLimit=count startingDeadlineSeconds=int64
JobTemplateSpec: metadata=ObjectMeta spec=JobSpec!
DeploymentStrategy: type=|RollingUpdate|Recreate rollingUpdate=RollingUpdateDeployment
RollingUpdateDeployment: maxSurge=share maxUnavailable=share
StatefulSetUpdateStrategy: type=|RollingUpdate|OnDelete
  rollingUpdate=RollingUpdateStatefulSetStrategy
RollingUpdateStatefulSetStrategy: maxUnavailable=share partition=count
DaemonSetUpdateStrategy: type=|RollingUpdate|OnDelete rollingUpdate=RollingUpdateDaemonSet
RollingUpdateDaemonSet: maxSurge=share maxUnavailable=share
PodDisruptionBudgetSpec: selector=LabelSelector minAvailable=share maxUnavailable=share
  unhealthyPodEvictionPolicy=IfHealthyBudget|AlwaysAllow

PodTemplateSpec: metadata=ObjectMeta spec=PodSpec!
ObjectMeta: name=str generateName=str namespace=str labels={label annotations={str uid=str
  ownerReferences=[OwnerReference resourceVersion=str finalizers=[str creationTimestamp
  deletionTimestamp deletionGracePeriodSeconds generation managedFields selfLink=str
OwnerReference: apiVersion=str kind=str name=str uid=str controller=bool blockOwnerDeletion=bool
PodSpec: affinity=Affinity nodeSelector={label tolerations=[Toleration
  topologySpreadConstraints=[TopologySpreadConstraint containers=[Container!
  initContainers=[Container resources=ResourceRequirements overhead={quantity nodeName=str
  schedulerName=str schedulingGates=[PodSchedulingGate schedulingGroup=PodSchedulingGroup
  priority=int32 priorityClassName=name preemptionPolicy=PreemptLowerPriority|Never
  hostNetwork=bool restartPolicy=|Always|OnFailure|Never activeDeadlineSeconds=int64
  resourceClaims volumes automountServiceAccountToken=bool dnsConfig dnsPolicy=str
  enableServiceLinks=bool ephemeralContainers evictionResponders hostAliases hostIPC=bool
  hostPID=bool hostUsers=bool hostname=str hostnameOverride=str imagePullSecrets os readinessGates
  runtimeClassName=str securityContext serviceAccount=str serviceAccountName=str
  setHostnameAsFQDN=bool shareProcessNamespace=bool subdomain=str
  terminationGracePeriodSeconds=int64
Container: name=str image=str resources=ResourceRequirements ports=[ContainerPort env=[EnvVar
  restartPolicy=str command=[str args=[str envFrom imagePullPolicy=str lifecycle livenessProbe
  readinessProbe startupProbe resizePolicy restartPolicyRules securityContext stdin=bool
  stdinOnce=bool terminationMessagePath=str terminationMessagePolicy=str tty=bool volumeDevices
  volumeMounts workingDir=str
ContainerPort: containerPort=port! hostPort=hostport hostIP=str name=str protocol=|TCP|UDP|SCTP
EnvVar: name=str value=str valueFrom
ResourceRequirements: requests={quantity limits={quantity claims
PodSchedulingGate: name=key!
PodSchedulingGroup: podGroupName=str

Affinity: nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAntiAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution=NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution=[PreferredSchedulingTerm
NodeSelector: nodeSelectorTerms=[NodeSelectorTerm
NodeSelectorTerm: matchExpressions=[NodeSelectorRequirement matchFields=[FieldSelectorRequirement
NodeSelectorRequirement: key=key! operator=str values=[value
FieldSelectorRequirement: key=str operator=str values=[str
PreferredSchedulingTerm: weight=weight! preference=PreferredNodeSelectorTerm
PreferredNodeSelectorTerm: matchExpressions=[PreferredNodeSelectorRequirement
  matchFields=[FieldSelectorRequirement
PreferredNodeSelectorRequirement: key=key! operator=str values=[str
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution=[PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution=[PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm
WeightedPodAffinityTerm: weight=weight! podAffinityTerm=PodAffinityTerm!
PodAffinityTerm: topologyKey=key! labelSelector=LabelSelector namespaces=[namespace
  namespaceSelector=LabelSelector matchLabelKeys=[key mismatchLabelKeys=[key
LabelSelector: matchLabels={label matchExpressions=[LabelSelectorRequirement
LabelSelectorRequirement: key=key! operator=In|NotIn|Exists|DoesNotExist! values=[value
Toleration: key=taintkey operator=|Equal|Exists value=str
  effect=|NoSchedule|PreferNoSchedule|NoExecute tolerationSeconds=int64
TopologySpreadConstraint: maxSkew=positive! topologyKey=filled!
  whenUnsatisfiable=DoNotSchedule|ScheduleAnyway! labelSelector=LabelSelector matchLabelKeys=[key
  minDomains=positive nodeAffinityPolicy=Honor|Ignore nodeTaintsPolicy=Honor|Ignore
"""


class Type(NamedTuple):
    """What a field takes."""

    name: str
    """Of an object's type, which is in `FIELDS`, or of a scalar; "" for anything."""
    within: str = ""
    """[ for a list of them, { for a mapping."""
    required: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the words that it takes, if it takes nothing else."""
        return tuple(self.name.split("|")) if "|" in self.name else ()


def _type(written: str) -> Type:
    within = written[:1] if written[:1] in {"[", "{"} else ""
    name = written.removeprefix(within)
    return Type(name.removesuffix("!"), within, name.endswith("!"))


def _fields(words: Iterator[str]) -> Mapping[str, Type]:
    pairs = (word.partition("=") for word in words)
    return {name: _type(written) for name, _, written in pairs}


def _types() -> Iterator[tuple[str, Mapping[str, Type]]]:
    for line in _TABLE.replace("\n  ", " ").splitlines():
        name, _, fields = line.partition(": ")
        if fields:
            yield name, _fields(iter(fields.split()))


FIELDS: Final[Mapping[str, Mapping[str, Type]]] = dict(_types())
"""The fields of each type of object, by their names."""
KINDS: Final = frozenset(name for name, fields in FIELDS.items() if "status" in fields)
"""Of objects that lint reads so."""
