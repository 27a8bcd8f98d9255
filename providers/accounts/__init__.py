"""Accounts elsewhere: each adapter turns a provider's answers into changes, which jobs/sync makes meetings of."""
