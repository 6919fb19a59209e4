"""Fixtures of other folders."""

from __future__ import annotations

from tests.commands.explain.conftest import explain

__all__ = ["explain"]
