"""Functions that run in processes of their own, with limits: what native code does with hostile input ends there.

A pool for each `Limits`: started when first needed, ended when idle, replaced after a fault or a number of runs
(decision 130).
"""

from providers.children.errors import ChildError, Faulty, OutOfMemory, OutOfTime, Raised, Stopped
from providers.children.limits import Limits
from providers.children.pool import Children

__all__ = ["ChildError", "Children", "Faulty", "Limits", "OutOfMemory", "OutOfTime", "Raised", "Stopped"]
