"""Runs what runs later: the port to the durable queue, then one module per kind of work."""
