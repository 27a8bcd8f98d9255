"""The documented REST paths: they translate, and nothing else."""
