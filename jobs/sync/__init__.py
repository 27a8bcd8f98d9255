"""Synchronisation: what becomes of the changes that accounts elsewhere tell of."""
