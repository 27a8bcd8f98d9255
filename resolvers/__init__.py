"""Does what the service does: one guarded function per operation."""
