"""All kinds of work: importing this registers them. A module of work imports what is slow to load where it needs it."""

from jobs import render, research
from jobs.work import KINDS

__all__ = ["KINDS", "render", "research"]
