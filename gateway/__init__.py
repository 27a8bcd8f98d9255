"""Assembly: settings, the application, the endpoint, and the command line."""
