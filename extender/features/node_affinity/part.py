"""What the program gets beside the plugin: nothing."""

from __future__ import annotations

from extender.core.parts import Part

PART = Part
