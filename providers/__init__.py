"""Outbound ports: each a protocol, an adapter over HTTP, and an embedded one."""
