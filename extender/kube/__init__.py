"""The edge to the API server: credentials, requests, list and watch, the feed of the cache."""

from __future__ import annotations

from extender.kube.slim import import_without_home, leave_out_models

leave_out_models()
import_without_home()
