"""The command lint: mistakes in configurations, rights and workloads."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from affinityctl.flags import output_flag, whole_cluster_group
from extender.command_line import DONE, NOT_FINE, Commands, command, complain, exit_codes, say
from extender.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from affinityctl.lint.objects import Configured, Objects
    from affinityctl.lint.surroundings import Surroundings

DESCRIPTION = """\
Look for mistakes: in the scheduler's file and the extender's, and whether they fit each other; in
the rights that manifests give the extender; and in the affinity of pods and workloads. Each finding
says what is wrong, why it hurts, how to fix it, and where it is. Nothing is changed.

Files may be manifests, dumps or folders of them. Without files, the pods and workloads of a cluster
are looked at.
"""

EPILOG = f"""\
what is found:
  docs/reference/lint-rules.md has every rule with its id.

  Rules about nodes, namespaces and other pods need a cluster: that of --cluster, or, with
  --kubeconfig or --context, a live one. With files and none of these, only the nodes in the files
  are known.

  The scheduler's file is held against the AffinityExtenderConfiguration of --config or among the
  files. Where there is none, the mode is the one that the scheduler's file looks like.

  An object is spared a rule by its annotation affinity-extender.io/lint-ignore: ID,ID

examples:
  affinity-extender lint scheduler-config.yaml --config extender.yaml
      do the two files belong together?
  affinity-extender lint deploy/ --cluster dump.json
      would these workloads work in the cluster that the dump is of?
  kubectl get nodes,namespaces,pods,deployments,statefulsets,daemonsets -A -o json > dump.json
  affinity-extender lint --cluster dump.json
      all workloads of a cluster, without access to it
  affinity-extender lint manifests/ -o sarif > lint.sarif
      for code scanning in CI

{exit_codes("something was found")}"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    lint = command(
        commands,
        "lint",
        "find mistakes in configurations, rights and the affinity of workloads",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    lint.set_defaults(run=_run)
    lint.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="manifests, a dump or a folder; -, standard input (default: the cluster's workloads)",
    )
    lint.add_argument(
        "--config",
        metavar="FILE",
        help="the extender's configuration file (default: the one among the files)",
    )
    lint.add_argument(
        "--mode",
        choices=("shadow", "assist", "replace"),
        help="mode of the extender, where a flag of it sets another one than its file (default: "
        "that of its file)",
    )
    lint.add_argument(
        "--scheduler-version",
        metavar="MINOR",
        help="minor version of kube-scheduler, such as 1.37 (default: schedulerVersion of the "
        "configuration file, or the live cluster's version)",
    )
    lint.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="ID",
        help="leave a rule out; may be repeated (default: none)",
    )
    output_flag(lint, "text", "json", "sarif")
    whole_cluster_group(lint)


def _run(flags: argparse.Namespace) -> int:
    from affinityctl.lint import report  # noqa: PLC0415 - see the head of this package
    from affinityctl.lint.linting import lint  # noqa: PLC0415
    from extender.config import Mode  # noqa: PLC0415

    ignore = _ignored(flags.ignore)
    objects, around, configs = _subject(flags)
    mode = None if flags.mode is None else Mode(flags.mode)
    found = lint(objects, configs, around, mode, ignore)
    writers = {
        "text": report.text,
        "json": report.json_text,
        "sarif": report.sarif_text,
    }
    say(writers[flags.output](found))
    return NOT_FINE if found.findings else DONE


def _ignored(ids: Sequence[str]) -> Sequence[str]:
    from affinityctl.lint.rulebook import BY_ID  # noqa: PLC0415 - see the head of this package

    for each in ids:
        if each not in BY_ID:
            raise ConfigError("--ignore", f"there is no rule {each!r}")
    return ids


def _subject(flags: argparse.Namespace) -> tuple[Objects, Surroundings, list[Configured]]:
    """Return what is to be looked at, what is known of the cluster, and the configurations."""
    from affinityctl.lint.objects import Objects, read_configs  # noqa: PLC0415
    from extender.offline import EXPECTED  # noqa: PLC0415

    files, cluster = Objects(), Objects()
    _load(flags.files, files)
    if flags.files and not len(files):
        raise ConfigError(str(flags.files[0]), "nothing that a rule looks at is in the files")
    minor = None
    live = not flags.cluster and (not flags.files or flags.kubeconfig or flags.context)
    _load(flags.cluster, cluster)
    if flags.cluster and not (cluster.nodes or cluster.workloads):
        raise ConfigError("--cluster", f"no node, pod or workload in it; {EXPECTED}")
    if live:
        import asyncio  # noqa: PLC0415

        from affinityctl.lint.live import list_cluster  # noqa: PLC0415

        minor = asyncio.run(list_cluster(flags.kubeconfig, flags.context, cluster))
    subject = files if flags.files else cluster
    configs = [_named_config(flags.config)] if flags.config else read_configs(subject.configs)
    minor = _minor(flags.scheduler_version) or _configured_minor(configs) or minor
    known = cluster if live or flags.cluster else files
    return subject, known.around(whole=known is cluster, minor=minor), configs


def _load(paths: Sequence[Path], objects: Objects) -> None:
    from affinityctl.lint.objects import read_objects  # noqa: PLC0415 - see the head of this package

    for path in paths:
        objects.take(read_objects(path, _passed_over))


def _passed_over(why: str) -> None:
    complain(f"note: passed over: {why}")


def _named_config(name: str) -> Configured:
    from affinityctl.lint.finding import Place  # noqa: PLC0415
    from affinityctl.lint.objects import Configured  # noqa: PLC0415
    from extender.config import KIND, load  # noqa: PLC0415 - see the head of this package
    from extender.files import read_text  # noqa: PLC0415

    # The environment is that of whoever looks, not that of the extender.
    config = load(argparse.Namespace(config=name), {}, read_text)
    return Configured(Place(name, KIND), config)


def _minor(version: str | None) -> int | None:
    from extender.config.checks import MINOR_VERSION  # noqa: PLC0415 - see the head of this package

    if version is None:
        return None
    if not MINOR_VERSION.fullmatch(version):
        raise ConfigError("--scheduler-version", f"{version!r} is not like 1.37")
    return int(version.removeprefix("1."))


def _configured_minor(configs: Sequence[Configured]) -> int | None:
    return _minor(configs[0].config.scheduler_version) if len(configs) == 1 else None
