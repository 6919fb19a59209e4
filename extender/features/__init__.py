"""Optional features, one folder each. To take one out: its folder, and its name in this line."""

FEATURES = ("audit", "explain", "refused_pods", "scale_down", "shadow", "violations")
