"""The server below the application: uvicorn's protocols with deadlines and limits, its processes, and their end."""
