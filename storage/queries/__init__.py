"""Named statements, one module per noun."""
