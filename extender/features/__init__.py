"""Optional features, one folder each. To take one out: its folder, and its line here."""

FEATURES: tuple[str, ...] = (
    "annotations",
    "audit",
    "binding",
    "explain",
    "groups",
    "moving",
    "node_affinity",
    "page",
    "quota",
    "refused_pods",
    "scale_down",
    "shadow",
    "violations",
)
