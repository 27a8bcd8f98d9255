"""What of the libraries is used here below their documented surface: one module per library, and nothing elsewhere."""
