"""Serves and describes the documented REST paths; it translates, and nothing else."""
