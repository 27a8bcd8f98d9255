"""Signing in at the embedded identity provider: its pages, and the endpoints of OAuth 2.0."""
