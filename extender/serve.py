"""The command serve: settings from three places, then the whole program."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from extender.core.command_line import DONE, Commands, command, complain, exit_codes, say
from extender.core.errors import UnreadableError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from extender.core.config import Config
    from extender.core.config.options import Option

STANDARD_OUTPUT = "-"
"""Instead of a file's name, as in other tools."""

DESCRIPTION = """\
Watch a cluster (or read one from files) and answer kube-scheduler's extender calls.

It listens on two ports: one for the scheduler's callbacks (POST /filter, /prioritize), one for
operations (/livez, /readyz, /metrics, /configz, /domains, /explain and a status page at /).
"""

EPILOG = f"""\
modes:
  assist   the scheduler keeps the hard rules, scores come from here; while this program is down,
           pods are still placed by the hard rules, only without preferences
  replace  hard rules are checked here as well, and the scheduler's own plugin is switched off;
           while this program is down, pods wait
  shadow   the scheduler decides alone and answers from here change nothing; where they would have
           differed is counted and logged
  The scheduler needs the configuration for the same mode; scheduler-config/ has one for each.

precedence: flags, then the file, then defaults.
  The file has more settings than there are flags: docs/reference/configuration.md describes all
  of them. --write-config-to - prints the configuration that they add up to, with every default;
  a running program shows it at /configz.

security: callbacks listen on 127.0.0.1. Any other --bind-address needs --tls-cert-file,
  --tls-private-key-file and --client-ca-file (serving.allowedClientNames narrows it to names), or
  --insecure-serving. The operations port is plain HTTP; only --ops-bind-address moves it.
  Timeouts and the number of connections are fields of `serving`; /configz shows them.

examples:
  affinity-extender serve --cluster dump.json.gz --mode replace
  affinity-extender dump -o dump.json   # what --cluster reads
  affinity-extender serve --config extender.yaml --validate-only
  affinity-extender serve --config extender.yaml --port 10290 --write-config-to effective.yaml
  curl localhost:10281/readyz?verbose

signals: SIGTERM and SIGINT fail readiness at once, let calls in flight finish, and end with 0.

{exit_codes("a port could not be opened, or the program failed while it ran")}"""


def add_to(commands: Commands) -> None:
    from extender.core.config.options import all_options  # noqa: PLC0415 - help comes at once

    serve = command(
        commands,
        "serve",
        "answer kube-scheduler's extender calls",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    serve.set_defaults(run=_serve)
    options = all_options()
    groups = {name: serve.add_argument_group(name) for name in _names(options)}
    for option in options:
        # -v as in Kubernetes, which takes --v as well.
        names = dict.fromkeys((option.spelled, f"--{option.flag}"))
        added = groups[option.group].add_argument(
            *names,
            dest=option.dest,
            metavar=option.metavar,
            help=f"{option.help} (default: {option.default})",
            action="append" if option.many else "store",
        )
        if option.switch:  # which may stand alone
            added.nargs, added.const = "?", "true"
        # For completion only: the schema checks values, wherever they come from.
        vars(added)["completed_with"] = option.choices
    # With the flags for the file; there is no setting in it that they would stand for.
    configuration = groups[options[0].group]
    configuration.add_argument(
        "--validate-only",
        action="store_true",
        help="check the configuration and every file that it names, report all faults, and exit",
    )
    configuration.add_argument(
        "--write-config-to",
        metavar="FILE",
        help="write the configuration that all settings add up to, to a file or, with -, to "
        "standard output, and exit",
    )


def _names(options: Iterable[Option]) -> Iterable[str]:
    return dict.fromkeys(option.group for option in options)


def _serve(flags: argparse.Namespace) -> int:
    from extender.core import config, files, logs  # noqa: PLC0415 - help comes at once
    from extender.core.config import layers  # noqa: PLC0415
    from extender.core.config.options import refuse_variables  # noqa: PLC0415

    refuse_variables(os.environ)
    warnings: list[str] = []
    checking = flags.validate_only or flags.write_config_to is not None
    loaded = layers.load(flags, files.read_text, complain if checking else warnings.append)
    if flags.validate_only:
        from extender import validating  # noqa: PLC0415 - brings TLS and the cluster along

        validating.check_files(loaded)
        # Standard output may be for the configuration.
        (complain if flags.write_config_to == STANDARD_OUTPUT else say)(f"ok: {_summary(loaded)}")
    if flags.write_config_to is not None:
        _write(loaded, flags.write_config_to)
    if checking:
        return DONE
    logs.configure(
        json_lines=loaded.logging.format is config.LogFormat.JSON,
        verbosity=loaded.logging.verbosity,
        stream=sys.stderr,
    )
    for each in warnings:
        logging.getLogger(__name__).warning("%s", each)
    from extender import runtime  # noqa: PLC0415 - brings the whole server along

    return runtime.serve(loaded)


def _write(loaded: Config, target: str) -> None:
    from extender.core import config  # noqa: PLC0415 - help comes at once

    text = config.to_yaml(loaded)
    if target == STANDARD_OUTPUT:
        say(text.rstrip("\n"))
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnreadableError(f"cannot write {target}: {error.strerror}") from error


def _summary(loaded: Config) -> str:
    plugins = ", ".join(loaded.plugins)
    source = "files" if loaded.cluster_files else "the API server"
    return f"mode {loaded.mode}, plugins {plugins}, objects from {source}"
