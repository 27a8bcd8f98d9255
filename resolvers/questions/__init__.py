"""Reads questions: a grammar over the catalogue, without a model; what it does not read in full it declines."""
