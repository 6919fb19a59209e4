"""Why a pod fits on some nodes and not on others, as JSON and on the page."""
