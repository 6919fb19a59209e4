"""What the command lint does: reads files or a cluster, asks the rules, and reports."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from affinityctl.commands.lint.finding import Level, Place
from affinityctl.commands.lint.linting import lint
from affinityctl.commands.lint.objects import (
    Configured,
    Objects,
    list_cluster,
    read_configs,
)
from affinityctl.commands.lint.patching import script
from affinityctl.commands.lint.report import named, sarif_text, text, told
from affinityctl.commands.lint.rulebook import BY_ID
from affinityctl.commands.lint.template import Surroundings
from affinityctl.reading.sources import PassedOver, read_objects
from affinityctl.terminal.printing import printed, show
from extender.core.command_line import DONE, NOT_FINE
from extender.core.config import KIND, Mode
from extender.core.config.checks import MINOR_VERSION
from extender.core.config.layers import load
from extender.core.errors import ConfigError
from extender.core.files import read_text
from extender.core.offline import EXPECTED


def run(flags: argparse.Namespace) -> int:
    for each in flags.ignore:
        if each not in BY_ID:
            raise ConfigError("--ignore", f"there is no rule {each!r}")
    objects, around, configs = _subject(flags)
    mode = objects.mode if flags.mode is None else Mode(flags.mode)
    found = lint(objects, configs, around, mode, flags.ignore)
    shown = script if flags.fix else sarif_text if flags.output == "sarif" else text

    def names() -> str:
        return named(each.place for each in found.findings)

    output = "text" if flags.fix else flags.output
    show(printed(output, lambda: told(found), lambda: shown(found), names), output)
    return NOT_FINE if any(each.rule.level is not Level.NOTE for each in found.findings) else DONE


def _subject(flags: argparse.Namespace) -> tuple[Objects, Surroundings, list[Configured]]:
    files, cluster = Objects(), Objects()
    load = partial(_load, verbose=flags.verbose)
    load(flags.files, files, lenient=True)
    if flags.files and files.is_empty:
        raise ConfigError(str(flags.files[0]), "no object is in the files")
    minor = None
    live = not flags.cluster and (not flags.files or flags.kubeconfig or flags.context)
    load(flags.cluster, cluster, lenient=not flags.files, of_cluster=True)
    if flags.cluster and not (cluster.nodes or cluster.workloads or cluster.written):
        raise ConfigError("--cluster", f"no node, pod or workload in it; {EXPECTED}")
    if live:
        minor = asyncio.run(list_cluster(flags, cluster))
    subject = files if flags.files else cluster
    configs = [_named_config(flags.config)] if flags.config else read_configs(subject.configs)
    configured = configs[0].config.scheduler_version if len(configs) == 1 else None
    minor = _minor(flags.scheduler_version) or _minor(configured) or minor
    known = cluster if live or flags.cluster else files
    return subject, known.around(whole=known is cluster, minor=minor, applied=files), configs


def _load(
    paths: Sequence[Path],
    objects: Objects,
    *,
    verbose: bool,
    lenient: bool,
    of_cluster: bool = False,
) -> None:
    for path in paths:
        passed = PassedOver()
        objects.take(read_objects(path, passed, of_cluster=of_cluster), lenient=lenient)
        passed.note(path, verbose=verbose)


def _named_config(name: str) -> Configured:
    config = load(argparse.Namespace(config=name), read_text)
    return Configured(Place(name, KIND), config)


def _minor(version: str | None) -> int | None:
    if version is None:
        return None
    if not MINOR_VERSION.fullmatch(version):
        raise ConfigError("--scheduler-version", f"{version!r} is not like 1.37")
    return int(version.removeprefix("1."))
