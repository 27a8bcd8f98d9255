"""The GraphQL surface: it translates, and nothing else."""
