"""What the type checker knows of rows: it follows from the tables, and refuses a column that there is not."""

import re
from inspect import get_annotations
from pathlib import Path
from typing import get_args, get_type_hints

from mypy import api

from storage import row_stub, rows
from storage.queries import listables
from storage.queries.listable import Listable

_MISSPELT = """
import strawberry
from contract.criteria import ListQuery
from resolvers.deals import list_deals
from resolvers.shared.context import Context
from resolvers.shared.lists import by_id
from rest_compat.operations import RestRequest, RestResponse
from schema.connections import Node
from schema.declare import computed_field
from storage.new_rows import new_row
from storage.queries.listables import DEALS
from storage.rows import DealRow
from storage.tables import Deal

async def resolver(ctx: Context) -> str:
    deal = await by_id(ctx, DEALS, "1")
    assert deal is not None
    return deal.name + deal.nmae  # misspelt

class Type(Node):
    @computed_field("Made up.")
    def field(root: strawberry.Parent[DealRow]) -> str:
        return root.name + root.nmae  # misspelt

async def handler(call: RestRequest) -> RestResponse:
    page = await list_deals(call.ctx, ListQuery())
    return RestResponse([row.name for row in page.rows] + [row.nmae for row in page.rows])  # misspelt

def setter(deal: DealRow) -> None:
    deal.name = "another"  # set

def setter_of_a_table(deal: Deal) -> None:
    deal.name = "another"  # set

def draft() -> str:
    return new_row(Deal, nmae="new").name + new_row(Deal, name="new").nmae  # misspelt
"""


def test_the_stubs_are_what_the_tables_make() -> None:
    stubs = row_stub.stubs()
    assert [path.read_text() for path in stubs] == list(stubs.values())


def _columns_of(row: type) -> set[str]:
    bodies = re.findall(r"^class (\w+).*:\n((?: .*\n)*)", row_stub.rows_stub(), flags=re.MULTILINE)
    said = {name: set(re.findall(r"^ +(\w+):", body, flags=re.MULTILINE)) for name, body in bodies}
    return set().union(*(said.get(part.__name__, get_annotations(part)) for part in row.__mro__))


def test_every_class_of_the_stub_is_there_at_run_time() -> None:
    named = re.findall(r"^class (\w+)", row_stub.rows_stub(), flags=re.MULTILINE)
    assert "DealRow" in named
    assert all(isinstance(getattr(rows, name), type) for name in named)


def test_every_listable_has_the_columns_of_its_row() -> None:
    hints = {n: h for n, h in get_type_hints(listables).items() if isinstance(getattr(listables, n), Listable)}
    assert len(hints) > 20
    for name, hint in hints.items():
        (row,) = get_args(hint)
        missing = _columns_of(row) - {column.key for column in getattr(listables, name).columns}
        assert (name, missing) == (name, set())


def test_a_misspelt_column_is_an_error(tmp_path: Path) -> None:
    module = tmp_path / "misspelt.py"
    module.write_text(_MISSPELT)
    said, _, _ = api.run([str(module)])
    refused = {int(line) for line in re.findall(r"misspelt\.py:(\d+): error", said)}
    assert refused == {n for n, line in enumerate(_MISSPELT.split("\n"), 1) if line.endswith(("# misspelt", "# set"))}
