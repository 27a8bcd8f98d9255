"""Holds the uses of libraries below their documented surface: one module per library, and nothing elsewhere."""
