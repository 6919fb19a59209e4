"""Where a report goes: to standard output, and into the files that are asked for."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bench.machine import machine


def add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report here too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")


def put_out(args: argparse.Namespace, report: str, numbers: dict[str, Any]) -> None:
    print(report)
    if args.markdown is not None:
        args.markdown.write_text(report + "\n", encoding="utf-8")
    if args.json is not None:
        text = json.dumps(numbers, indent=2, ensure_ascii=False)
        args.json.write_text(text + "\n", encoding="utf-8")


def put_out_measured(args: argparse.Namespace, report: str, numbers: dict[str, Any]) -> None:
    """Put a report out with what it was measured on."""
    put_out(args, f"Measured on {machine()}.\n\n{report}", {"machine": machine(), **numbers})
