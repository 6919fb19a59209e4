"""Optional features, one folder each. To take one out: its folder, and its name in this line."""

FEATURES: tuple[str, ...] = ("audit", "explain", "scale_down", "shadow", "violations")
