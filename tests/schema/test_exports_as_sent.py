"""Exports write what the driver gives, without rows in between, as they would write rows (decisions 1186 and 1187)."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import EVERYTHING
from contract.errors import ResponseTooLarge
from resolvers import export_reading
from resolvers.export_forms import FORMS
from resolvers.export_rows import EXPORTED
from storage.base import FIRST_ID, Money
from storage.queries import exports, row_size_limit
from storage.queries.row_size_limit import check_sent_size
from storage.sent_records import SentRecords, sent_column
from storage.statements import ORG_PARAM
from storage.tables import Account, Activity, Campaign, Deal, Lead, Tag, TagLink
from tests.schema.test_exports import export, lines
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

AMOUNTS = ("0", "0.0001", "0.5", "1", "10", "100.10", "1500.5", "12.3400", "1000000000", "999999999999999.9999")
MOMENTS = (
    datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    datetime(2024, 1, 2, 3, 4, 5, 100_000, tzinfo=UTC),
    datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2024, 1, 2, 0, 0, 0, 1, tzinfo=UTC),
)
_WRITTEN = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC
LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"


async def add_some_of_each(tenant: Tenant) -> None:
    for n, amount in enumerate(AMOUNTS):
        moment = MOMENTS[n % len(MOMENTS)]
        made = {"created_at": moment, "updated_at": max(MOMENTS)}
        await tenant.add(
            Deal(
                name=f"={n}",
                value=Decimal(amount),
                close_date=date(2026, 1, 1 + n) if n % 2 else None,
                closed_at=moment if n % 3 else None,
                competitors=["a;b", "Zoë"] if n % 2 else [],
                **made,
            ),
            Account(name=f"Z\u2028 {n}", domain=f"{n}.example", **made),
            Lead(name="two\nlines", tags=["q"] if n % 2 else [], **made),
            Activity(
                subject=f"+{n}", due_at=moment, details={"transcript": "s", "n": [1.5]} if n % 2 else None, **made
            ),
            Campaign(name=f"{n}", provider="local", **made),
        )


@pytest.mark.parametrize("kind", ExportKind)
async def test_what_is_sent_is_written_as_rows_are(one: Tenant, kind: ExportKind) -> None:
    """Decision 1186."""
    await add_some_of_each(one)
    exported = EXPORTED[kind]
    listable = exported.selecting(exported.columns)
    async with one.gateway.world.database.reading(one.id) as session:
        sent = await exports.batch(session, listable, EVERYTHING, FIRST_ID, LAST, 1_000)
        shape = partial(listable.select, ORG_PARAM)
        rows = {row.id: row for row in await session.fetch(("rows of", kind), shape)}
    assert len(sent) == len(rows)
    for record in sent:
        row = rows[record[sent.place("id")]]
        for place, column in enumerate(sent.columns[: len(row)]):
            held, value = record[place], getattr(row, column.name)
            if held is None:
                assert value is None
                continue
            if column.decode is not None:
                assert written(column.decode(held)) == written(value)
            assert written(column.for_json(held) if column.for_json else held) == written(value), column
            if column.as_text is not None:
                assert column.as_text(held) == written(value).decode().strip('"'), column


def written(value: object) -> bytes:
    return orjson.dumps(value, option=_WRITTEN, default=lambda amount: orjson.Fragment(format(amount, "f")))


@pytest.mark.parametrize("dialect", ["postgresql", "sqlite"])
async def test_an_amount_has_the_digits_that_it_needs(dialect: str) -> None:
    column = sent_column("value", Money(), dialect, Money.decode)
    assert column.as_text is not None
    texts = [*AMOUNTS, "0.0000", "000", "00012", "0000000000000000.5000", "-0.50", "-12", "10.0"]
    for text in texts:
        for held in (text, Decimal(text)):
            assert column.as_text(held) == format(Money.decode(held), "f"), held


async def test_a_line_and_a_cell_are_what_they_were(one: Tenant) -> None:
    await one.add(
        Deal(
            name="-1",
            value=Decimal("1500.50"),
            close_date=date(2026, 2, 3),
            closed_at=MOMENTS[0],
            competitors=["a;b", "c"],
            created_at=MOMENTS[1],
        )
    )
    columns = "columns=name,value,close_date,closed_at,created_at,competitors,notes,tags"
    assert (await export(one, f"deals?format=jsonl&{columns}")).content == (
        b'{"name":"-1","value":1500.5,"close_date":"2026-02-03","closed_at":"2024-01-02T03:04:05Z",'
        b'"created_at":"2024-01-02T03:04:05.100000Z","competitors":["a;b","c"],"notes":null,"tags":[]}\n'
    )
    assert (await export(one, f"deals?{columns}")).text.splitlines()[1] == (
        "-1,1500.5,2026-02-03,2024-01-02T03:04:05Z,2024-01-02T03:04:05.100000Z,a\\;b;c,,"
    )


async def test_a_column_that_no_row_has_is_a_mistake() -> None:
    sent = (sent_column("id", Money(), "sqlite", None),)
    for form in FORMS.values():
        with pytest.raises(ValueError, match="name"):
            form.writer(("name",), sent)
    assert FORMS[ExportFormat.JSONL].writer(("id",), sent)([[None]], {}) == b'{"id":null}\n'


async def test_records_that_are_too_large_together_are_told(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a statement that has the bytes in it, wherever further columns of a replica's answer stand."""
    await one.add(Deal(name="a", notes="x" * 30), Deal(name="b", notes="y" * 30))
    listable = EXPORTED[ExportKind.DEAL].selecting(("id", "notes"))
    async with one.gateway.world.database.reading(one.id) as session:
        sent = await exports.batch(session, listable, EVERYTHING, FIRST_ID, LAST, 10)
        assert [column.name for column in sent.columns] == ["id", "notes", "created_at", "long_bytes"]
        assert len(sent) == 2
    monkeypatch.setattr(row_size_limit, "ROWS_MAX_BYTES", 59)
    with pytest.raises(ResponseTooLarge):
        check_sent_size(sent)
    longer = SentRecords(sent.columns, [(*record, True, True) for record in sent])
    with pytest.raises(ResponseTooLarge):
        check_sent_size(longer)
    short = SentRecords(sent.columns[:-1], [(*tuple(record)[:-1], 999, True) for record in sent])
    assert check_sent_size(short) is short
    async with one.gateway.world.database.reading(one.id) as session:
        rows = await session.rows(select(Deal.id).where(Deal.org_id == one.id))
    with pytest.raises(TypeError):
        check_sent_size(rows)


async def add_tagged_deals(tenant: Tenant) -> None:
    tags = [Tag(name=name) for name in ("b", "a", "=c")]
    deals = [Deal(id=f"00000000-0000-7000-8000-00000000000{n}", name=f"{n}") for n in range(6)]
    await tenant.add(*tags, *deals)
    for n, deal in enumerate(deals):
        for place in range(n % 4):
            tag = tags[(n + place) % 3]
            await tenant.add(TagLink(kind="deal", record_id=deal.id, tag_id=tag.id, position=place if n != 3 else 0))


async def sent_for(tenant: Tenant, path: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The lines of an export, and the statements that read tags for them."""
    with statements(tenant.gateway.world.database) as sent:
        found = lines(await export(tenant, path))
    return found, [each for each in sent if "tag_links" in each and "position" in each]


async def test_tags_lie_together(one: Tenant, two: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 1187: where most links between two records are of other records, those of each are looked for."""
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    await add_tagged_deals(two)
    await add_tagged_deals(one)
    path = "deals?format=jsonl&columns=name,tags"
    together, sent = await sent_for(one, path)
    assert [row["tags"] for row in together] == [[], ["a"], ["=c", "b"], ["=c", "a", "b"], [], ["=c"]]
    assert len(sent) == 4  # one row first, and then two at a time
    assert len(set(sent)) == 1
    monkeypatch.setattr(export_reading, "_LINKS_OF_ONE", 1)
    apart, sent_apart = await sent_for(one, path)
    assert apart == together
    assert len(sent_apart) == len(sent) + 1, "the limit is met once, and after that it is not tried again"
    assert len(set(sent_apart)) == 2
    monkeypatch.setattr(export_reading, "_LINKS_OF_ONE", 0)
    assert (await sent_for(one, path))[0] == together
    csv = (await export(one, "deals?columns=name,tags")).text.splitlines()
    assert csv[1:] == ["0,", "1,a", "2,'=c;b", "3,'=c;a;b", "4,", "5,'=c"]
