"""The command line. What a command needs is imported when it runs, so that help comes at once."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from extender import __version__
from extender.errors import ConfigError, ExtenderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extender.config import Config

PROGRAM = "affinity-extender"

# Exit codes, as the help text of the commands says.
DONE, FAILED, MISUSED = 0, 1, 2

DESCRIPTION = """\
Answers kube-scheduler's questions about inter-pod affinity from counters that are kept up to
date, instead of from a walk over all pods for each pod that is scheduled.
"""

EPILOG = """\
examples:
  affinity-extender serve --cluster cluster.yaml --mode replace
      try it without a cluster: objects come from a file
  affinity-extender serve --kubeconfig ~/.kube/config
      watch a cluster and answer its scheduler
  affinity-extender serve --help
      all settings

exit codes: 0 ended as asked, 1 failed while running, 2 wrong usage or configuration
"""

SERVE_DESCRIPTION = """\
Watch a cluster (or read one from files) and answer kube-scheduler's extender calls.

Two ports are opened: callbacks for the scheduler (POST /filter, /prioritize) and operations for
people and probes (/livez, /readyz, /metrics, /configz, /domains and a page at /).
"""

SERVE_EPILOG = """\
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


class _Parser(argparse.ArgumentParser):
    """Says on one line what is wrong; the usage in full only when asked for."""

    def error(self, message: str) -> NoReturn:
        """End the program for wrong usage."""
        self.exit(MISUSED, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    try:
        chosen = _parser().parse_args(arguments)
    except SystemExit as stop:  # after --help, or after wrong usage
        return stop.code if isinstance(stop.code, int) else DONE
    try:
        return _serve(chosen) if chosen.command == "serve" else _version()
    except ConfigError as error:
        _complain(f"{error}; correct it and start again ({PROGRAM} serve --help lists settings)")
        return MISUSED
    except ExtenderError as error:
        _complain(str(error))
        return FAILED


def _parser() -> argparse.ArgumentParser:
    from extender.config.options import OPTIONS  # noqa: PLC0415 - see the head of this module

    parser = _Parser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(title="commands", dest="command", required=True)
    serve = commands.add_parser(
        "serve",
        help="answer kube-scheduler's extender calls",
        description=SERVE_DESCRIPTION,
        epilog=SERVE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
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
    commands.add_parser("version", help="say which version this is", allow_abbrev=False)
    return parser


def _serve(flags: argparse.Namespace) -> int:
    from extender import config, logs  # noqa: PLC0415 - see the head of this module

    loaded = config.load(flags, os.environ, functools.partial(Path.read_text, encoding="utf-8"))
    for warning in config.strangers(os.environ):
        _complain(f"warning: {warning}")
    if flags.write_config_to is not None:
        _write(loaded, flags.write_config_to)
    if flags.validate_only:
        print(f"ok: {_summary(loaded)}")  # noqa: T201 - the answer that was asked for
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
    from extender import config  # noqa: PLC0415 - see the head of this module

    try:
        target.write_text(config.to_yaml(loaded), encoding="utf-8")
    except OSError as error:
        raise ExtenderError(f"cannot write {target}: {error.strerror}") from error


def _summary(loaded: Config) -> str:
    plugins = ", ".join(loaded.plugins)
    source = "files" if loaded.cluster_files else "the API server"
    return f"mode {loaded.mode}, plugins {plugins}, objects from {source}"


def _version() -> int:
    print(f"{PROGRAM} {__version__} (Python {sys.version.split()[0]})")  # noqa: T201 - the answer
    return DONE


def _complain(message: str) -> None:
    # Messages may quote what a file or a variable holds: whatever that is, this is one line.
    print(f"{PROGRAM}: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201 - no log yet
