"""Holds what only PostgreSQL needs: its connections and its notifications."""
