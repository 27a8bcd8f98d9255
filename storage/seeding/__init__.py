"""Deterministic data: whole organizations for trying out and measuring (`seed`), and the demo (`seed_demo`)."""

from storage.seeding.bulk import Summary, seed
from storage.seeding.demo import Demo, seed_demo
from storage.seeding.plan import Plan

__all__ = ["Demo", "Plan", "Summary", "seed", "seed_demo"]
