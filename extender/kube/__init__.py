"""The edge to the API server: credentials, requests, list and watch, the feed of the cache."""

from __future__ import annotations

from extender.kube.slim import leave_out_models

leave_out_models()
