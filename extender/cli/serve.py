"""The command serve: settings from four places, then the whole program."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from extender.cli.parsing import DONE, Commands, command, complain, say
from extender.errors import ExtenderError

if TYPE_CHECKING:
    import argparse

    from extender.config import Config

DESCRIPTION = """\
Watch a cluster (or read one from files) and answer kube-scheduler's extender calls.

Two ports are opened: callbacks for the scheduler (POST /filter, /prioritize) and operations for
people and probes (/livez, /readyz, /metrics, /configz, /domains and a page at /).
"""

EPILOG = """\
modes:
  assist   the scheduler keeps the hard rules, scores come from here; when this program is down,
           pods are placed lawfully, only without preferences
  replace  hard rules are checked here as well, and the scheduler's own plugin is switched off; when
           this program is down, pods wait
  shadow   the scheduler keeps all of its plugin, answers change nothing; where they would have
           differed is counted and logged
  The scheduler's configuration has to be the one for the same mode: scheduler-config/ has them.

precedence: flags over environment over file over defaults.
  Each setting with a value has a variable: --ops-port is AFFINITY_EXTENDER_OPS_PORT, -v is
  AFFINITY_EXTENDER_V. AFFINITY_EXTENDER_CLUSTER lists files as PATH lists directories.
  What they came to is shown at /configz, and written by --write-config-to.

examples:
  affinity-extender serve --cluster dump.json.gz --mode replace
  kubectl get nodes,namespaces,pods,pdb -A -o json > dump.json   # what --cluster reads
  affinity-extender serve --config extender.yaml --validate-only
  affinity-extender serve --config extender.yaml --port 10290 --write-config-to effective.yaml
  curl localhost:10281/readyz?verbose

signals: SIGTERM and SIGINT fail readiness at once, let calls in flight finish, and end with 0.
exit codes: 0 ended as asked, 1 failed while running, 2 wrong usage or configuration
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    from extender.config.options import OPTIONS  # noqa: PLC0415 - see the head of this package

    serve = command(
        commands,
        "serve",
        "answer kube-scheduler's extender calls",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    serve.set_defaults(run=_serve)
    for option in OPTIONS:
        # -v as in Kubernetes, which takes --v as well.
        names = [f"-{option.flag}"] * (len(option.flag) == 1) + [f"--{option.flag}"]
        serve.add_argument(
            *names,
            dest=option.dest,
            metavar=option.metavar,
            help=option.help,
            action="append" if option.many else "store",
        )
    serve.add_argument(
        "--validate-only",
        action="store_true",
        help="check the configuration, say so, and end without serving",
    )
    serve.add_argument(
        "--write-config-to",
        metavar="FILE",
        type=Path,
        help="write the configuration that all settings come to, and end without serving",
    )


def _serve(flags: argparse.Namespace) -> int:
    from extender import config, logs  # noqa: PLC0415 - see the head of this package

    loaded = config.load(flags, os.environ, functools.partial(Path.read_text, encoding="utf-8"))
    for warning in config.strangers(os.environ):
        complain(f"warning: {warning}")
    if flags.write_config_to is not None:
        _write(loaded, flags.write_config_to)
    if flags.validate_only:
        say(f"ok: {_summary(loaded)}")
    if flags.validate_only or flags.write_config_to is not None:
        return DONE
    logs.configure(
        json_lines=loaded.logging.format is config.LogFormat.JSON,
        verbosity=loaded.logging.verbosity,
        stream=sys.stderr,
    )
    from extender import runtime  # noqa: PLC0415 - brings the whole server along

    return runtime.serve(loaded)


def _write(loaded: Config, target: Path) -> None:
    from extender import config  # noqa: PLC0415 - see the head of this package

    try:
        target.write_text(config.to_yaml(loaded), encoding="utf-8")
    except OSError as error:
        raise ExtenderError(f"cannot write {target}: {error.strerror}") from error


def _summary(loaded: Config) -> str:
    plugins = ", ".join(loaded.plugins)
    source = "files" if loaded.cluster_files else "the API server"
    return f"mode {loaded.mode}, plugins {plugins}, objects from {source}"
