"""Holds what the resolvers of all record types share; no operation is here."""
