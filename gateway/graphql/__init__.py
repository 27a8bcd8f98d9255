"""The GraphQL surface over HTTP, server-sent events and WebSockets."""
