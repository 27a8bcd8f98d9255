"""Ad-hoc SQL through both doors: what answers, what is refused and where, and what the change log is told."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

import httpx
import pytest

from contract.catalog_tables import SQL_FUNCTIONS, SQL_TABLES
from storage.base import new_id
from storage.tables import Account, Activity, Deal, Event
from tests.analytics.crm import fill
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUERY = """query($sql: String!, $first: Int) { sqlQuery(sql: $sql, first: $first) { columns { name label kind unit
  currencyColumn } rows rowCount truncated sql { text parameters dialect tables filters digest }
  chart { kind spec } } }"""


async def run(tenant: Tenant, sql: str, headers: Any = None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = await tenant.ask(QUERY, headers, sql=sql, **more)
    return found


async def rows(tenant: Tenant, sql: str) -> Any:
    return (await run(tenant, sql))["rows"]


async def post(tenant: Tenant, body: Any, headers: Any = None, **more: Any) -> httpx.Response:
    given = {**tenant.headers(), **(headers or {})}
    return await tenant.gateway.http.post("/analytics/sql", json=body, headers=given, **more)


async def test_the_rows_come_with_their_columns_by_both_doors(one: Tenant) -> None:
    await one.add(Deal(name="A", value=Decimal("1500.5"), currency="EUR"), Deal(name="B", currency="USD"))
    sql = "SELECT name, value AS amount, currency FROM deals ORDER BY name"
    found = await run(one, sql)
    assert found["rows"] == [["A", "1500.5", "EUR"], ["B", None, "USD"]]
    assert found["columns"][1] == {
        **{"name": "amount", "label": "Amount", "kind": "DECIMAL", "unit": "money"},
        "currencyColumn": "currency",
    }
    digest = sha256(sql.encode()).hexdigest()
    dialect = one.gateway.world.database.dialect
    assert found["sql"] == {
        **{"text": sql, "parameters": [], "dialect": dialect, "tables": ["deals"], "filters": [], "digest": digest}
    }
    path = await post(one, {"sql": sql})
    assert path.status_code == 200
    body = path.json()
    assert (body["rows"], body["row_count"], body["truncated"]) == (found["rows"], 2, False)
    assert body["columns"][1]["currency_column"] == "currency"
    assert body["sql"]["digest"] == digest


async def test_amounts_are_exact(one: Tenant) -> None:
    amounts = ["0.0001", "999999999999999.9999", "1000", "1000.0001", "2.5"]
    await one.add(*(Deal(name=a, value=Decimal(a), currency="EUR") for a in amounts), Deal(name="none"))
    by = "ORDER BY value"
    assert await rows(one, f"SELECT name FROM deals WHERE value > 1000 {by}") == [["1000.0001"], [amounts[1]]]
    assert await rows(one, f"SELECT name FROM deals WHERE value BETWEEN 2.5 AND 1000 {by}") == [["2.5"], ["1000"]]
    assert await rows(one, f"SELECT name FROM deals WHERE value IN (2.5, 0.0001, 7) {by}") == [["0.0001"], ["2.5"]]
    assert await rows(one, "SELECT name FROM deals WHERE value > -1 AND value < 0.00011") == [["0.0001"]]
    total = "1000000000002002.5001"
    assert await rows(one, "SELECT SUM(value), AVG(value), MIN(value), MAX(value), COUNT(value) FROM deals") == [
        [total, "200000000000400.5", "0.0001", amounts[1], 5]
    ]
    assert await rows(one, "SELECT SUM(value * 33 / 100), SUM(value) / 3, ROUND(SUM(value), 1) FROM deals") == [
        ["330000000000660.825033", "333333333334000.8334", "1000000000002002.5"]
    ]
    assert await rows(one, "SELECT name FROM deals WHERE value IS NOT NULL ORDER BY value * -2, name") == [
        [amounts[n]] for n in (1, 3, 2, 4, 0)
    ]
    assert await rows(one, "SELECT SUM(value) AS s FROM deals HAVING SUM(value) > 1000000000002002.5") == [[total]]
    assert await rows(one, "SELECT COALESCE(SUM(value), 0) FROM deals WHERE name = 'none'") == [["0"]]
    running = "SELECT name, SUM(value) OVER (ORDER BY value) AS s FROM deals WHERE value < 1001 ORDER BY s DESC"
    assert [row[1] for row in await rows(one, running)] == ["2002.5002", "1002.5001", "2.5001", "0.0001"]
    assert await rows(one, "SELECT CASE WHEN value > 2 THEN value ELSE 0 END AS x FROM deals ORDER BY x LIMIT 1") == [
        ["0"]
    ]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "SELECT name FROM deals WHERE value > '1000'",
            "syntax: an amount does not go with a text (line 1, column 30)",
        ),
        ("SELECT name FROM deals WHERE close_date > 5", "syntax: a day cannot be compared with a whole number"),
        ("SELECT SUM(name) FROM deals", "syntax: sum does not go with a text"),
        ("SELECT CAST(value AS REAL) FROM deals", "syntax: an amount cannot be made a number"),
        ("SELECT name, COUNT(*) FROM deals", "syntax: name is neither in GROUP BY nor in an aggregate"),
        ("SELECT name\nFROM organizations", "names: there is no table organizations (line 2, column 6)"),
        ("SELECT org_id FROM deals", "names: there is no column org_id (line 1, column 8)"),
        ("SELECT a.name FROM deals a JOIN accounts b ON a.id <> b.id", "joins: b is joined by no equality"),
        ("DELETE FROM deals", "parse: a statement is one SELECT (line 1, column 1)"),
        ("SELECT name FROM deals -- x", "text: comments are not allowed (line 1, column 24)"),
    ],
)
async def test_a_refusal_names_layer_reason_and_place(one: Tenant, sql: str, words: str) -> None:
    error = await one.error(QUERY, sql=sql)
    assert error["message"].startswith(words), error
    said = error["extensions"]
    assert said["code"] == "ANALYTICS_REFUSED"
    assert said["layer"] == words.partition(":")[0].upper()
    assert (said["line"] or 0) >= 1
    assert (said["column"] or 0) >= 1
    path = await post(one, {"sql": sql})
    assert path.status_code == 422
    assert path.json()["detail"] == [{"loc": ["body", "sql"], "msg": error["message"], "type": "analytics_refused"}]


@pytest.mark.parametrize(
    "sql", ["SELECT 1 / 0 FROM deals", "SELECT CAST(name AS INT) FROM deals", "SELECT value / 0 FROM deals"]
)
async def test_what_the_database_refuses_is_said_without_values(one: Tenant, sql: str) -> None:
    await one.add(Deal(name="secret", value=Decimal(1)))
    error = await one.error(QUERY, sql=sql)
    assert error["extensions"]["code"] == "ANALYTICS_FAILED"
    assert "secret" not in str(error)
    path = await post(one, {"sql": sql})
    assert (path.status_code, path.json()["detail"][0]["type"]) == (422, "analytics_failed")
    assert path.json()["detail"][0]["loc"] == ["body", "sql"]
    assert await rows(one, "SELECT COUNT(*) FROM deals") == [[1]]


async def test_another_organization_is_never_seen(one: Tenant, two: Tenant) -> None:
    await one.add(Account(name="Ours"))
    await two.add(Account(name="Theirs"))
    for sql in (
        "SELECT name FROM accounts",
        "SELECT a.name FROM accounts a WHERE EXISTS (SELECT 1 AS x FROM accounts b WHERE b.id = a.id)",
        "WITH x AS (SELECT name FROM accounts) SELECT name FROM x UNION SELECT name FROM accounts",
        "SELECT a.name FROM accounts a LEFT JOIN accounts b ON b.id = a.id OR 1 = 1 AND b.id = a.id",
    ):
        answer = await post(one, {"sql": sql})
        assert "Theirs" not in answer.text
        if answer.status_code == 200:
            assert answer.json()["rows"] == [["Ours"]]
    assert await rows(two, "SELECT name FROM accounts") == [["Theirs"]]


async def test_scopes_narrow_the_tables(one: Tenant) -> None:
    await fill(one)
    alone = await one.scoped("data:access")
    catalog = "{ analyticsCatalog { sqlAvailable dialect functions tables { name columns { name kind } } } }"
    seen = await one.ask(catalog, alone)
    names = {table["name"] for table in seen["tables"]}
    assert names == {name for name, table in SQL_TABLES.items() if table.group.name == "CRM_READ"}
    assert seen["sqlAvailable"]
    assert tuple(seen["functions"]) == SQL_FUNCTIONS[seen["dialect"]]
    for name, table in SQL_TABLES.items():
        sql = f"SELECT COUNT(*) FROM {name}"
        if name in names:
            assert len((await run(one, sql, alone))["rows"]) == 1
        else:
            error = await one.error(QUERY, alone, sql=sql)
            assert error["message"].startswith(f"names: the table {name} needs ")
            assert all(scope in error["message"] for scope in table.group.value)
    every = await one.ask(catalog, one.headers("admin"))
    assert {t["name"]: [c["name"] for c in t["columns"]] for t in every["tables"]} == {
        name: [*table.columns] for name, table in SQL_TABLES.items()
    }
    path = (await one.gateway.http.get("/analytics/catalog", headers=alone)).json()
    assert [table["name"] for table in path["tables"]] == [table["name"] for table in seen["tables"]]


async def test_the_change_log_has_every_attempt_and_no_text(one: Tenant) -> None:
    await one.add(Deal(name="A"))
    good, bad = "SELECT name FROM deals WHERE name = 'A'", "SELECT secret FROM credentials"
    await run(one, good)
    await one.error(QUERY, sql=bad)
    await one.error(QUERY, sql="SELECT 1 / 0 FROM deals")
    events = [row for row in await one.rows(Event.type, Event.area, Event.data) if row[0] == "sql_query_run"]
    assert [area for _, area, _ in events] == ["admin"] * 3
    data = [one_event[2] for one_event in events]
    assert [d["outcome"] for d in data] == ["succeeded", "refused", "failed"]
    assert [d["layer"] for d in data] == [None, "names", None]
    assert [d["digest"] for d in data[:2]] == [sha256(text.encode()).hexdigest() for text in (good, bad)]
    assert (data[0]["tables"], data[0]["rows"]) == (["deals"], 1)
    assert not any(word in str(data) for word in ("SELECT", "credentials", "'A'"))


async def test_an_answer_ends_by_rows_and_bytes_and_says_so(one: Tenant) -> None:
    await one.add(*(Account(name=f"{n:04}" + "x" * 240) for n in range(1010)))
    sql = "SELECT name FROM accounts ORDER BY name"
    whole = await run(one, sql)
    assert (whole["rowCount"], whole["truncated"]) == (1000, True)
    assert [row[0][:4] for row in whole["rows"]] == [f"{n:04}" for n in range(1000)]
    few = await run(one, sql, first=3)
    assert (few["rowCount"], few["truncated"]) == (3, True)
    assert (await run(one, sql, first=0))["rowCount"] == 0
    wide = await run(one, f"SELECT {', '.join(f'name AS n{n}' for n in range(10))} FROM accounts")
    assert wide["truncated"]
    assert 300 < wide["rowCount"] < 450
    assert (await one.error(QUERY, sql=sql, first=1001))["extensions"]["problems"][0]["field"] == ["first"]
    refused = await post(one, {"sql": sql, "limit": 1001})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "limit"])
    columns = ", ".join(f"name AS n{n}" for n in range(51))
    assert (await one.error(QUERY, sql=f"SELECT {columns} FROM accounts"))["message"].startswith("syntax: an answer")


async def test_csv_has_no_formulas(one: Tenant) -> None:
    names = ["=1+1", "+x", "-2", "@a", "\ttab", "  =2", '"quoted", comma', "plain", "＝full", "-", "two\nlines"]
    await one.add(*(Account(name=name, domain=f"a{n}.example") for n, name in enumerate(names)))
    await one.add(Deal(name="d", value=Decimal("-0") + Decimal(5), currency="EUR"))
    sql = "SELECT name, -5 AS number FROM accounts ORDER BY domain"
    answer = await post(one, {"sql": sql}, {"Accept": "text/csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["x-result-digest"] == sha256(sql.encode()).hexdigest()
    assert "attachment" in answer.headers["content-disposition"]
    assert "x-truncated" not in answer.headers
    text = answer.content.decode()
    assert text.startswith("name,number\r\n")
    assert text.endswith("\r\n")
    assert not text.startswith("\ufeff")
    assert "'=1+1,-5\r\n" in text
    assert "'+x,-5\r\n" in text
    assert "'-2,-5" in text
    assert "'@a" in text
    assert "'\ttab" in text
    assert "'  =2" in text
    assert '"""quoted"", comma",-5' in text
    assert "\r\nplain,-5" in text
    assert "'＝full" in text
    assert '"two\nlines"' in text
    cut = await post(one, {"sql": sql, "limit": 1}, {"Accept": "application/json"}, params={"format": "csv"})
    assert cut.headers["x-truncated"] == "true"
    assert len(cut.text.splitlines()) == 2
    for accept in ("application/json, text/csv;q=0.5", "*/*", ""):
        assert (await post(one, {"sql": sql}, {"Accept": accept})).headers["content-type"] == "application/json"
    refused = await post(one, {"sql": sql}, params={"format": "xml"})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["query", "format"])


async def test_who_may_not_is_told_before_the_statement_is_read(one: Tenant) -> None:
    other = await one.scoped("deals:read", "api:manage", name="other")
    path = await one.gateway.http.post("/analytics/sql", content=b"no json", headers=other)
    assert path.status_code == 403
    assert path.json()["required_scopes"] == ["data:access"]
    assert (await one.error(QUERY, other, sql="x"))["extensions"]["code"] == "FORBIDDEN"
    assert not [row for row in await one.rows(Event.type) if row[0] == "sql_query_run"]


async def test_where_it_is_not_set_up_it_is_said(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    services = one.gateway.world.services
    before = services.sql
    object.__setattr__(services, "sql", None)
    try:
        assert (await one.error(QUERY, sql="SELECT 1"))["extensions"]["code"] == "NOT_CONFIGURED"
        path = await post(one, {"sql": "SELECT 1"})
        assert (path.status_code, path.json()["code"]) == (501, "not_configured")
        catalog = await one.ask("{ analyticsCatalog { sqlAvailable tables { name } functions } }")
        assert catalog == {"sqlAvailable": False, "tables": [], "functions": []}
    finally:
        object.__setattr__(services, "sql", before)


async def test_dates_moments_and_identifiers_are_alike(one: Tenant) -> None:
    await fill(one)
    found = await run(
        one, "SELECT id, close_date, created_at FROM deals WHERE close_date IS NOT NULL ORDER BY id LIMIT 1"
    )
    assert [column["kind"] for column in found["columns"]] == ["ID", "DATE", "DATETIME"]
    key, day, moment = found["rows"][0]
    assert moment.endswith("Z")
    sql = f"SELECT COUNT(*) FROM deals WHERE id = '{key}' AND close_date = '{day}' AND created_at = '{moment}'"
    assert await rows(one, sql) == [[1]]
    assert await rows(one, f"SELECT COUNT(*) FROM deals WHERE id = '{new_id()}'") == [[0]]
    error = await one.error(QUERY, sql="SELECT name FROM deals WHERE close_date > 'soon'")
    assert error["message"].startswith("syntax: a day is compared with a text that is none")


ZONED = {
    "sqlite": ["local_date(due_at, '{zone}')"],
    "postgresql": [
        "CAST(due_at AT TIME ZONE '{zone}' AS date)",
        "CAST(date_trunc('day', due_at AT TIME ZONE '{zone}') AS date)",
        "to_char(due_at AT TIME ZONE '{zone}', 'YYYY-MM-DD')",
    ],
}


async def test_days_in_a_time_zone(one: Tenant) -> None:
    """Decision 295: the day is that of the zone, also beside a change of its offset."""
    moments = [datetime(2026, 9, 26, 11, 59), datetime(2026, 9, 26, 12, 0), datetime(2026, 9, 27, 11), None]
    await one.add(*(Activity(subject="M", due_at=at and at.replace(tzinfo=UTC)) for at in moments))
    dialect = one.gateway.world.database.dialect
    for form in ZONED[dialect]:
        there = form.format(zone="Pacific/Auckland")
        found = await rows(
            one, f"SELECT {there} AS day, COUNT(*) AS meetings FROM activities GROUP BY 1 ORDER BY 1 NULLS LAST"
        )
        assert found == [["2026-09-26", 1], ["2026-09-27", 1], ["2026-09-28", 1], [None, 1]]
        for zone in ("Pacific/Nowhere", "localtime", "UTC''"):
            error = await one.error(QUERY, sql=f"SELECT {form.format(zone=zone)} AS day FROM activities")
            assert error["message"].startswith("syntax: a time zone is a name such as 'Europe/Berlin', in quotes")
    if dialect == "postgresql":
        error = await one.error(QUERY, sql="SELECT due_at AT TIME ZONE 'Europe/Berlin' AS here FROM activities")
        assert error["message"].startswith("syntax: here is a time in a zone: CAST(… AS date) makes a day of it")


async def test_an_amount_is_compared_with_any_other(one: Tenant) -> None:
    await one.add(*(Deal(name=name, value=Decimal(name)) for name in ("999999999999999.9999", "999999999999999.9998")))
    for sign, name in ((">", "999999999999999.9998"), ("<", "999999999999999.9999")):
        [[found]] = await rows(one, f"SELECT name FROM deals WHERE value {sign} {name}")
        assert found != name


async def test_leads_are_grouped_by_their_tags(one: Tenant) -> None:
    """Decision 296."""
    await fill(one)
    sql = (
        "SELECT t.name, COUNT(*) AS leads FROM leads l JOIN tag_links k ON k.record_id = l.id AND k.kind = 'lead' "
        "JOIN tags t ON t.id = k.tag_id GROUP BY 1 ORDER BY 1"
    )
    assert await rows(one, sql) == [["Fair", 8], ["VIP", 7]]


async def test_null_is_put_together_with_anything(one: Tenant) -> None:
    await one.add(Deal(name="D", value=Decimal(3)))
    sql = (
        "SELECT name, NULL AS value FROM deals UNION ALL SELECT NULL AS name, value FROM deals ORDER BY name NULLS LAST"
    )
    assert await rows(one, sql) == [["D", None], [None, "3"]]
