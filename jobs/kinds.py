"""All kinds of work: importing this registers them. A module of work imports what is slow to load where it needs it."""

from jobs import campaigns, outreach_domains, render, research, webhooks
from jobs.work import KINDS

__all__ = ["KINDS", "campaigns", "outreach_domains", "render", "research", "webhooks"]
