from __future__ import annotations

import subprocess
import sys

import pytest

from storage.adapters.sqlmodel import mappers
from storage.tables import TABLES

_JUDGED = """
import sys
from storage.tenancy.guard import TenantBreach, pinned
loaded = [name for name in sys.modules if name.startswith("storage.tables.")]
assert not loaded, loaded
for statement in ("SELECT id FROM deals", 'DELETE FROM "Deals"', "WITH deals AS (SELECT 1) SELECT 1 FROM deals"):
    for inside in (True, False):
        try:
            pinned(statement, sys.argv[1], inside=inside)
        except TenantBreach:
            continue
        raise SystemExit(f"{statement} was let through")
assert pinned("SELECT id FROM deals WHERE org_id = " + sys.argv[2], sys.argv[1], inside=True) == (0,)
"""


def test_the_list_of_tables_has_each_of_them() -> None:
    """Made-up tables of the tests aside."""
    declared = {str(m.local_table): m.class_ for m in mappers() if m.class_.__module__.startswith("storage.tables.")}
    assert {name: f"{c.__module__.rpartition('.')[2]}.{c.__name__}" for name, c in declared.items()} == dict(TABLES)


@pytest.mark.parametrize(("grammar", "placeholder"), [("sqlite", "?"), ("postgresql", "$1")])
def test_a_statement_on_a_table_that_nobody_loaded_is_judged(grammar: str, placeholder: str) -> None:
    """What a process has loaded makes no difference to isolation (decision 1070)."""
    subprocess.run([sys.executable, "-c", _JUDGED, grammar, placeholder], check=True)
