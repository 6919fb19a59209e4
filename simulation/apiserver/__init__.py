"""An API server without sockets: storage, watch caches, and the requests that it answers."""
