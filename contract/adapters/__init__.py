"""Holds what is used of libraries below their documented surface."""
