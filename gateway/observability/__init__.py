"""Shows what an operator looks at: logs, metrics, readiness, and what doctor finds."""
