"""Rows and SQL: tables, named statements, migrations, and the sessions that keep organizations apart."""
