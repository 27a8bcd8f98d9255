"""Finds out who is calling: principals, tokens, the exchange, and the identity providers."""
