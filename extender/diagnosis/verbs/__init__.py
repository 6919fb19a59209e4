"""Why a pod fits where it does, and what keeps it from everywhere else."""
