"""The command explain: which nodes a pod fits, which rule refuses each other one, and by whom."""
