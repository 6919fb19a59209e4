"""The command violations: which placed pods break required rules, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extender.cli.parsing import (
    DONE,
    NOT_FINE,
    Commands,
    command,
    config_flag,
    exit_codes,
    namespace_flags,
    note_empty_namespaces,
    output_flag,
    say,
    whole_cluster_group,
)
from extender.errors import ConfigError

if TYPE_CHECKING:
    import argparse

    from extender.cli.judging import Judging
    from extender.cluster.state import ClusterState
    from extender.model.execution import Execution

DESCRIPTION = """\
Show which placed pods break a required rule where they are: their node affinity, their pod affinity
or their pod anti-affinity; who is in their way; and which of them would be evicted if
requiredDuringExecution were on, and which not, and why.

Rules of the annotation affinity-extender.io/affinity hold during execution where they say so, in
the namespaces that annotations.namespaceSelector of --config selects; without it they are ignored.
Ordinary rules do in the namespaces that --plain-rules selects, as plainRules does in the
configuration. Placed pods whose annotation cannot be read are shown as well: nobody can tell
whether they break what it means. Nothing is changed.
"""

EPILOG = f"""\
columns:
  POD, NODE   a pod, and where it is
  BROKEN      the rule, the topology domain in which it is broken, and the pods in the way
  OUTCOME     goes: it would be evicted; anything else says why it stays:
              notEnforced, noController, staticPod, noOtherNode, budget, othersGo, deleting

since when:
  A command that looks once cannot tell. A running extender can: /violations of its operations
  port, which has the same pods with the field since.

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list nodes, namespaces, pods and poddisruptionbudgets.
  --cluster reads a file instead.

examples:
  affinity-extender violations
      what breaks which rule?
  affinity-extender violations --plain-rules team=shop -n shop
      who would be evicted there, if ordinary rules held during execution?
  kubectl get nodes,namespaces,pods,pdb -A -o json > dump.json
  affinity-extender violations --cluster dump.json --plain-rules '' -o json

{exit_codes("at least one pod breaks a rule, or has rules that cannot be read")}"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    violations = command(
        commands,
        "violations",
        "show which placed pods break required rules, and which would be evicted",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    violations.set_defaults(run=_run)
    namespace_flags(violations, "show pods of")
    violations.add_argument(
        "--plain-rules",
        metavar="SELECTOR",
        help="labels of namespaces, such as team=shop,!test, in which ordinary rules hold during "
        "execution; an empty one selects all (default: none)",
    )
    config_flag(
        violations,
        "where rules in annotations count, and the plugins' arguments",
        "nowhere, the scheduler's defaults",
    )
    output_flag(violations, "text", "json")
    whole_cluster_group(violations)


def _run(flags: argparse.Namespace) -> int:
    from extender.cli import violations_report  # noqa: PLC0415 - see the head of this package
    from extender.cli.judging import judging, note_ignored_annotations  # noqa: PLC0415
    from extender.verbs.violation_survey import survey  # noqa: PLC0415

    execution = _execution(flags.plain_rules)
    by = judging(flags.config)
    plugins = (by.profile.affinity, by.profile.nodes)
    state = _cluster(flags, by)
    note_ignored_annotations(state)
    note_empty_namespaces(state, flags.namespace)
    found = survey(state, execution, plugins)
    chosen = set(flags.namespace)
    shown = [each for each in found if not chosen or each.pod.pod_class.namespace in chosen]
    broken = [
        each
        for each in state.broken_annotations
        if each.node is not None and (not chosen or each.pod_class.namespace in chosen)
    ]
    written = violations_report.json_text if flags.output == "json" else violations_report.table
    say(written(shown, broken))
    return NOT_FINE if shown or broken else DONE


def _cluster(flags: argparse.Namespace, by: Judging) -> ClusterState:
    from extender.cli.cluster import fill  # noqa: PLC0415 - see the head of this package
    from extender.cluster.state import ClusterState  # noqa: PLC0415
    from extender.model.execution import Execution  # noqa: PLC0415
    from extender.model.labels import EVERYTHING  # noqa: PLC0415
    from extender.resources import BUDGETS, NAMESPACES, NODES, PODS  # noqa: PLC0415
    from extender.wire.objects import PodReader  # noqa: PLC0415

    state = ClusterState(execution=Execution(EVERYTHING), annotations=by.annotations)
    pods = PodReader(node_affinity=True, owners=True, requirements=True)
    fill(flags, state, pods, (NAMESPACES, NODES, BUDGETS, PODS))
    return state


def _execution(text: str | None) -> Execution:
    """Read a selector of namespaces as kubectl takes it; None selects none."""
    from extender.model.execution import Execution  # noqa: PLC0415 - see the head of this package
    from extender.model.labels import Operator, Requirement, Selector  # noqa: PLC0415

    if text is None:
        return Execution()
    requirements = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        key, equals, value = part.partition("=")
        absent = key.startswith("!")
        if not key.strip("!") or (absent and equals):
            raise ConfigError("--plain-rules", f"{part!r} is not KEY, KEY=VALUE or !KEY")
        if equals:
            made = Requirement(key, Operator.IN, frozenset((value.removeprefix("="),)))
        else:
            operator = Operator.DOES_NOT_EXIST if absent else Operator.EXISTS
            made = Requirement(key.removeprefix("!"), operator)
        requirements.append(made)
    return Execution(Selector.of(requirements))
