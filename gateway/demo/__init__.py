"""The demo: its data, its research run, and the links that sign a newcomer in."""
