"""The edge to the API server: credentials, requests, list and watch, the feed of the cache."""

from __future__ import annotations
