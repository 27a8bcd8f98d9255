"""Holds the services that the gateway is compared with: each small, over the same tables, as a competent user has it.

None of them has authentication, permissions, limits or isolation of organizations: each serves the one organization
whose identifier it is started with, and the floor the one that a header names. They never share a process with
`storage`, whose tables have the same names.
"""
