"""Who is calling: principals, tokens, the exchange, and the identity providers."""
