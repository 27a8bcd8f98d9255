"""The embedded answerer: a grammar over the tools, in place of a language model (decisions 352 to 354)."""
