"""Quotas on affinity across namespaces: the plugin CrossNamespacePodAffinity."""
