"""Named statements, one module per record type."""
