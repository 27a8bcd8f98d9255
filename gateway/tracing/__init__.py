"""Traces by OpenTelemetry, where CRM_OTEL is on: spans of requests, documents, operations, statements, jobs, calls."""
