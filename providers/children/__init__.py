"""Functions that run in processes of their own, with limits: what native code does with hostile input ends there.

A pool for each `Limits`: started when first needed, ended when idle, replaced after a fault or a number of runs
(decision 130). A child imports `limits` alone of this package, so nothing is imported here: the pool's event loop and
sockets would cost each child five megabytes (decision 1031).
"""
