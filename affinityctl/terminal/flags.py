"""Flags that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from extender.core.command_line import Parser

if TYPE_CHECKING:
    import argparse
KUBECONFIG_DEFAULT: Final = "$KUBECONFIG or ~/.kube/config; in a pod, its service account"
Group: TypeAlias = "argparse._ArgumentGroup"  # noqa: SLF001 - nor has this


def cluster_group(of: Parser, default: str = KUBECONFIG_DEFAULT) -> Group:
    """Add the flags that say which API server to ask; a command has more of its own beside them."""
    group = of.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help=f"kubeconfig file (default: {default})",
    )
    group.add_argument(
        "--context",
        metavar="NAME",
        help="context of the kubeconfig file (default: its current context)",
    )
    return group


def whole_cluster_group(of: Parser) -> None:
    """Add the flags that name a cluster: an API server, or files instead of it."""
    group = cluster_group(of)
    group.add_argument(
        "--as",
        dest="as_user",
        metavar="USER",
        help="ask as this user, as kubectl does; you need the right to impersonate",
    )
    group.add_argument(
        "--as-group",
        action="append",
        default=[],
        metavar="GROUP",
        help="ask as a member of this group; may be repeated",
    )
    group.add_argument(
        "--cluster",
        action="append",
        default=[],
        metavar="FILE",
        type=Path,
        help="take the cluster from this file (JSON List or YAML, plain or gzip), folder or "
        "archive (tar, tar.gz or zip, such as a must-gather) or, with -, from standard input, "
        "instead of a live one; may be repeated",
    )
    group.add_argument(
        *("-v", "--verbose"),
        action="store_true",
        help="list what of files, folders and archives is passed over",
    )


def namespace_flag(of: Parser, whose: str) -> None:
    """Add the flag for one namespace; `api_server.namespace_of` says which is meant without it."""
    of.add_argument(
        *("-n", "--namespace"),
        metavar="NAME",
        help=f"namespace {whose} (default: that of the context; with --cluster, default)",
    )


def namespace_flags(of: Parser, verb: str) -> None:
    """Add the flags that say in which namespaces to look, by a verb for what is done there."""
    namespaces = of.add_mutually_exclusive_group()
    namespaces.add_argument(
        *("-n", "--namespace"),
        action="append",
        default=[],
        metavar="NAME",
        help=f"{verb} this namespace only; may be repeated (default: all namespaces)",
    )
    namespaces.add_argument(
        *("-A", "--all-namespaces"),
        action="store_true",
        help=f"{verb} all namespaces, the default",
    )


def config_flag(of: Parser, what: str, default: str) -> None:
    """Add the flag for an extender's configuration file, of which a command takes what it says."""
    of.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help=f"take {what} from this configuration file of an extender (default: {default})",
    )


def scheduler_config_flag(of: Parser) -> None:
    of.add_argument(
        "--scheduler-config",
        metavar="FILE",
        type=Path,
        help="judge each pod by its profile in this KubeSchedulerConfiguration: which plugins are "
        "on, default topology spread constraints, addedAffinity, ignored resources, and the "
        "arguments of InterPodAffinity (default: the scheduler's defaults); what an extender does "
        "in a plugin's place goes by --config",
    )


def output_flag(of: Parser, *further: str, names: str = "") -> None:
    """Add the flag for the format of what is said; `names` says what the format name lists."""
    of.add_argument(
        *("-o", "--output"),
        choices=("text", *further, "json", "yaml", *(("name",) if names else ())),
        default="text",
        help="output format (default %(default)s)"
        + (
            f"; name: {names}, a line KIND/NAME -n NAMESPACE for each, for xargs -L1 kubectl get"
            if names
            else ""
        ),
    )
