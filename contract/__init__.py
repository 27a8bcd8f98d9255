"""The specification as code: constants, names and rules. Imports nothing of this project."""
