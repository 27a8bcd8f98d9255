"""Sessions of one organization, and the guard of their statements."""
