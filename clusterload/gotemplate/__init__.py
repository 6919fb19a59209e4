"""The part of Go's text/template that clusterloader2's files use.

What is not here (define, template, block, break, continue, method calls) is an error that says so.
"""

from __future__ import annotations

from clusterload.gotemplate.evaluating import Template
from clusterload.gotemplate.lexing import TemplateError

__all__ = ["Template", "TemplateError"]
