"""The cluster that flags name, and the pods, workloads and manifests that are chosen of it."""
