"""Mode replace: the extender decides each bind, and sends it to the API server."""
