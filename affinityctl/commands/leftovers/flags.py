"""Flags and words."""

from __future__ import annotations

from affinityctl.terminal.flags import output_flag, whole_cluster_group
from extender.core.command_line import Parser, exit_codes

SHORT = "show what the extender has left on objects of a cluster, and remove it"

DESCRIPTION = """\
Show what is left of the extender on pods, namespaces and Leases after it was removed from a
cluster. With --remove, take away what the program itself has written. Nothing is changed without
that flag.

What you have written for the extender is listed apart: labels and annotations with names of
affinity-extender.io/. They do nothing while no extender runs, and --remove leaves them alone unless
--also-yours is given. On a pod that a template made, they come back with the next pod until you
take them out of the template.
"""

EPILOG = f"""\
columns:
  ON         the kind of object
  WHAT       the annotation, label, condition of the status or field of the status
  WRITTEN    by the program, or by you
  OBJECTS    how many have it, and the first of them

what is whose:
  - An annotation that other programs use as well counts as the extender's if another annotation
    of the extender's has the same value. Otherwise it is not listed.
  - A nominated node counts as the extender's if metadata.managedFields says that it wrote it. Only
    pods without a node are looked at.
  - Who may edit a pod can pretend that an annotation is the extender's. At worst it is removed.
  - Objects of the installation itself, such as roles, go with `kubectl delete -k` or
    `helm uninstall`. Events go by themselves, after an hour by default.

while an extender runs:
  --remove refuses to begin while a Lease is held, because all would be written anew. An extender
  without a Lease, or with one that --lease does not name, is not noticed: remove the installation
  first.

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config). Needs the right
  to list pods and namespaces and to get the Lease; --remove also to patch pods and pods/status, to
  delete the Lease and, with --also-yours, to patch namespaces. --cluster reads a file instead; one
  that `kubectl get -o json --show-managed-fields` wrote has all that is looked at.

examples:
  affinity-extender leftovers
      is anything left?
  affinity-extender leftovers --remove
  affinity-extender leftovers --lease kube-system/affinity-scheduler
      that of the second scheduler that the overlay `sidecar` brings
  affinity-extender leftovers --remove --also-yours -o json
  kubectl get pods,namespaces,leases -A -o json --show-managed-fields > all.json
  affinity-extender leftovers --cluster all.json

{exit_codes("something that the program wrote is there, after --remove: is there still")}"""


def add_flags(of: Parser) -> None:
    of.add_argument(
        "--remove",
        action="store_true",
        help="remove what the program has written (default: it is only listed)",
    )
    of.add_argument(
        "--also-yours",
        action="store_true",
        help="with --remove, also remove your labels and annotations for the extender (default: "
        "they stay)",
    )
    of.add_argument(
        "--lease",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME",
        help="look at this Lease; may be repeated (default: kube-system/affinity-extender)",
    )
    output_flag(of, names="the objects")
    whole_cluster_group(of)
