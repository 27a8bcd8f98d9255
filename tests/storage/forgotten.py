"""Statements whose author forgot the organization, or got it wrong; and statements of every legitimate shape."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    ARRAY,
    Executable,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.orm import aliased
from sqlmodel import SQLModel, col

from storage.base import Identifier, as_uuid, new_id
from storage.tables import Account, Contact, Credential, Deal, DealContact, EventCounter, PipelineStage
from tests.support.rows import Rows


def _type(value: Any) -> Any:
    return Identifier if as_uuid(value) else ARRAY(Text) if isinstance(value, list) else None


Statement = Callable[[Rows, Rows], Executable]

accounts, deals, activities, deal_contacts, event_counters = (
    SQLModel.metadata.tables[name] for name in ("accounts", "deals", "activities", "deal_contacts", "event_counters")
)


def sql(words: str, **parameters: Callable[[Rows, Rows], Any]) -> Statement:
    """A text; `:ours` and `:theirs` are the organizations."""
    words = words.replace("{id}", "VARCHAR(36)")

    def make(ours: Rows, theirs: Rows) -> Executable:
        known = {"ours": ours.org, "theirs": theirs.org} | {k: v(ours, theirs) for k, v in parameters.items()}
        named = [bindparam(k, v, _type(v)) for k, v in known.items() if re.search(rf":{k}\b", words)]
        return text(words).bindparams(*named)

    return make


def _stage(ours: Rows, name: str) -> dict[str, Any]:
    return PipelineStage(org_id=ours.org, name=name).model_dump()


_OTHER = aliased(Deal)
_ALIAS = deals.alias("d")

NARROWED: dict[str, Statement] = {
    "orm select": lambda o, t: select(Deal),
    "orm select of columns": lambda o, t: select(Deal.name),
    "orm select by identifier": lambda o, t: select(Deal).where(col(Deal.id) == t.deal),
    "orm select with or": lambda o, t: select(Deal).where(or_(col(Deal.org_id) == o.org, col(Deal.id) == t.deal)),
    "orm select with not": lambda o, t: select(Deal).where(not_(col(Deal.org_id) == o.org)),
    "orm count": lambda o, t: select(Deal.name, func.count()).group_by(col(Deal.name)),
    "orm join": lambda o, t: select(Account.name, Deal.name).join(Deal, col(Deal.account_id) == col(Account.id)),
    "orm outer join": lambda o, t: select(Account.name, Deal.name).join(Deal, col(Deal.id) == t.deal, isouter=True),
    "orm cross join": lambda o, t: select(Account.name, Deal.name).join(Deal, literal(1) == 1),
    "orm alias": lambda o, t: select(_OTHER),
    "orm self join": lambda o, t: select(Deal.name, _OTHER.name).join(
        _OTHER, col(_OTHER.currency) == col(Deal.currency)
    ),
    "orm derived table": lambda o, t: select(select(Deal.name).subquery()),
    "orm common table expression": lambda o, t: select(select(Deal.name).cte("found")),
    "orm exists": lambda o, t: select(Account.name).where(exists().where(col(Deal.id) == t.deal)),
    "orm in subquery": lambda o, t: select(Account.name).where(col(Account.id).in_(select(Deal.account_id))),
    "orm scalar subquery": lambda o, t: select(select(func.max(Deal.name)).scalar_subquery()),
    "orm union": lambda o, t: union_all(select(Deal.name), select(Account.name)),
    "orm link table": lambda o, t: select(DealContact),
    "orm window": lambda o, t: select(Deal.name, func.count().over()),
    "orm for update": lambda o, t: select(Deal).with_for_update(),
    "orm update": lambda o, t: update(Deal).values(name="ours now"),
    "orm update by identifier": lambda o, t: update(Deal).where(col(Deal.id) == t.deal).values(name="ours now"),
    "orm delete": lambda o, t: delete(DealContact),
    "orm counter": lambda o, t: update(EventCounter).values(last=7),
}
"""The criteria make these harmless: they must pass, and must not touch or show another organization's row."""

REFUSED: dict[str, Statement] = {
    "orm select of theirs": lambda o, t: select(Deal).where(col(Deal.org_id) == t.org),
    "core select": lambda o, t: select(deals),
    "core select by identifier": lambda o, t: select(deals).where(deals.c.id == t.deal),
    "core select of theirs": lambda o, t: select(deals).where(deals.c.org_id == t.org),
    "core alias": lambda o, t: select(_ALIAS).where(_ALIAS.c.name == "second"),
    "core join with one pin": lambda o, t: (
        select(accounts.c.name).join(deals, deals.c.account_id == accounts.c.id).where(accounts.c.org_id == o.org)
    ),
    "core update": lambda o, t: update(deals).values(name="ours now"),
    "core update of theirs": lambda o, t: update(deals).where(deals.c.org_id == t.org).values(name="x"),
    "core delete": lambda o, t: delete(deal_contacts),
    "core delete of the link": lambda o, t: delete(deal_contacts).where(deal_contacts.c.contact_id == t.contact),
    "core insert for theirs": lambda o, t: insert(event_counters).values(org_id=t.org, last=1),
    "core insert of several, one for theirs": lambda o, t: insert(accounts).values(
        [
            {"org_id": org, "id": new_id(), "name": "x", "created_at": None, "updated_at": None, "version": 1}
            for org in (o.org, t.org)
        ]
    ),
    "core insert from select": lambda o, t: insert(event_counters).from_select(
        ["org_id", "last"], select(deals.c.org_id, func.count()).group_by(deals.c.org_id)
    ),
    "orm insert for theirs": lambda o, t: insert(EventCounter).values(org_id=t.org, last=1),
    "orm move to theirs": lambda o, t: update(Deal).where(col(Deal.org_id) == o.org).values(org_id=t.org),
    "directory": lambda o, t: text("SELECT * FROM organizations"),
    "members": lambda o, t: text("SELECT * FROM members"),
    "memberships": sql("SELECT * FROM memberships WHERE org_id = :theirs"),
    "credentials": lambda o, t: select(Credential),
    "credentials of theirs": lambda o, t: select(Credential).where(col(Credential.org_id) == t.org),
    "text": sql("SELECT * FROM deals"),
    "text of theirs": sql("SELECT * FROM deals WHERE org_id = :theirs"),
    "text by identifier": sql("SELECT * FROM deals WHERE id = :id", id=lambda o, t: t.deal),
    "literal of theirs": lambda o, t: text(f"SELECT * FROM deals WHERE org_id = '{t.org}'"),
    "literal of ours": lambda o, t: text(f"SELECT * FROM deals WHERE org_id = '{o.org}'"),
    "or": sql("SELECT * FROM deals WHERE org_id = :ours OR name = 'second'"),
    "or in parentheses": sql("SELECT * FROM deals WHERE (org_id = :ours OR true) AND name = 'second'"),
    "not": sql("SELECT * FROM deals WHERE NOT org_id = :ours"),
    "not in parentheses": sql("SELECT * FROM deals WHERE NOT (org_id = :ours AND name = 'x')"),
    "not equal": sql("SELECT * FROM deals WHERE org_id <> :ours"),
    "equal is false": sql("SELECT * FROM deals WHERE (org_id = :ours) = false"),
    "equal is not true": sql("SELECT * FROM deals WHERE (org_id = :ours) IS NOT TRUE"),
    "in a case": sql("SELECT * FROM deals WHERE CASE WHEN org_id = :ours THEN true ELSE true END"),
    "in a list of both": sql("SELECT * FROM deals WHERE org_id IN (:ours, :theirs)"),
    "both by or": sql("SELECT * FROM deals WHERE org_id = :ours OR org_id = :theirs"),
    "compared with itself": sql("SELECT * FROM deals WHERE org_id = org_id"),
    "another column": sql("SELECT * FROM deals WHERE id = :ours"),
    "another table's pin": sql("SELECT d.* FROM deals d, accounts a WHERE a.org_id = :ours"),
    "unclear whose pin": sql("SELECT d.* FROM deals d JOIN activities a ON true WHERE org_id = :ours"),
    "pin in the select list": sql("SELECT org_id = :ours FROM deals"),
    "pin in having": sql("SELECT org_id FROM deals GROUP BY org_id HAVING org_id = :ours"),
    "pin in order": sql("SELECT name FROM deals ORDER BY org_id = :ours"),
    "pin in a filter": sql("SELECT count(*) FILTER (WHERE org_id = :ours) FROM deals"),
    "pin in left join's on, of the left": sql(
        "SELECT d.* FROM deals d LEFT JOIN accounts a ON a.org_id = :ours AND d.org_id = :ours"
    ),
    "left join without a pin": sql(
        "SELECT d.name, a.name FROM deals d LEFT JOIN accounts a ON a.id = d.account_id WHERE d.org_id = :ours"
    ),
    "right join": sql("SELECT d.*, a.* FROM accounts a RIGHT JOIN deals d ON d.org_id = :ours AND a.org_id = :ours"),
    "full join": sql("SELECT d.*, a.* FROM accounts a FULL JOIN deals d ON d.org_id = :ours AND a.org_id = :ours"),
    "natural join": sql("SELECT * FROM deals NATURAL JOIN accounts WHERE accounts.org_id = :ours"),
    "join with using": sql("SELECT d.name FROM deals d JOIN accounts a USING (version) WHERE a.org_id = :ours"),
    "joins in parentheses": sql(
        "SELECT 1 FROM contacts c LEFT JOIN (deals d JOIN accounts a ON a.org_id = d.org_id) ON true"
        " WHERE c.org_id = :ours"
    ),
    "comma": sql("SELECT a.name, d.name FROM accounts a, deals d WHERE a.org_id = :ours"),
    "same alias twice": sql("SELECT * FROM deals d, accounts d WHERE d.org_id = :ours"),
    "subquery in from": sql("SELECT * FROM (SELECT * FROM deals) d WHERE d.org_id = :ours AND d.name = 'second'"),
    "subquery in where": sql("SELECT name FROM accounts WHERE org_id = :ours AND id IN (SELECT account_id FROM deals)"),
    "subquery in the select list": sql("SELECT (SELECT max(name) FROM deals) FROM accounts WHERE org_id = :ours"),
    "exists": sql(
        "SELECT name FROM accounts a WHERE a.org_id = :ours AND EXISTS (SELECT 1 FROM deals d WHERE d.name = 'second')"
    ),
    "correlated with a namesake": sql(
        "SELECT 1 FROM accounts a WHERE a.org_id = :ours AND EXISTS ("
        "SELECT 1 FROM deals d, (SELECT CAST(:theirs AS {id}) AS org_id) a WHERE d.org_id = a.org_id)"
    ),
    "union": sql("SELECT name FROM deals WHERE org_id = :ours UNION SELECT name FROM accounts"),
    "except": sql("SELECT name FROM deals EXCEPT SELECT name FROM deals WHERE org_id = :ours"),
    "common table expression": sql("WITH x AS (SELECT * FROM deals) SELECT * FROM x WHERE org_id = :ours"),
    "expression named like a table": sql(
        "WITH deals AS (SELECT * FROM deals) SELECT * FROM deals WHERE org_id = :ours"
    ),
    "recursive": sql(
        "WITH RECURSIVE x AS (SELECT id FROM deals WHERE org_id = :ours UNION"
        " SELECT d.id FROM deals d JOIN x ON d.parent_deal_id = x.id OR true) SELECT * FROM x"
    ),
    "window": sql("SELECT name, count(*) OVER (PARTITION BY org_id) FROM deals"),
    "comment": sql("SELECT * FROM /* org_id = :ours */ deals -- WHERE org_id = :ours"),
    "comment with a question": sql(
        "SELECT * FROM deals /* ? */ WHERE org_id = :theirs AND name = :name", name=lambda o, t: o.org
    ),
    "quoted": sql('SELECT * FROM "deals"'),
    "upper case": sql("SELECT * FROM DEALS"),
    "mixed case": sql("sElEcT * FrOm DeAlS dEaLs"),
    "upper case of theirs": sql("SELECT * FROM DEALS D WHERE d.ORG_ID = :theirs"),
    "line breaks": sql("SELECT *\nFROM\n\tdeals"),
    "two statements": sql("SELECT 1; SELECT * FROM deals"),
    "two statements, one pinned": sql("SELECT * FROM deals WHERE org_id = :ours; DELETE FROM deal_contacts"),
    "text update": sql("UPDATE deals SET name = 'ours now'"),
    "text update of theirs": sql("UPDATE deals SET name = 'ours now' WHERE org_id = :theirs"),
    "text update from": sql("UPDATE deals SET name = a.name FROM accounts a WHERE deals.org_id = :ours"),
    "text update with a subquery": sql("UPDATE deals SET name = (SELECT max(name) FROM accounts) WHERE org_id = :ours"),
    "text move to theirs": sql("UPDATE deals SET org_id = :theirs WHERE org_id = :ours"),
    "text move in a list": sql("UPDATE deals SET (name, ORG_ID) = ('x', :theirs) WHERE org_id = :ours"),
    "text delete": sql("DELETE FROM deal_contacts"),
    "text delete of theirs": sql("DELETE FROM deal_contacts WHERE org_id = :theirs"),
    "delete in a returning query": sql("DELETE FROM deal_contacts WHERE deal_id IN (SELECT id FROM deals) RETURNING *"),
    "insert for theirs": sql("INSERT INTO event_counters (org_id, last) VALUES (:theirs, 1)"),
    "insert of two": sql("INSERT INTO event_counters (org_id, last) VALUES (:ours, 1), (:theirs, 1)"),
    "insert without columns": sql("INSERT INTO event_counters VALUES (:ours, 1)"),
    "insert without the key": sql("INSERT INTO event_counters (last) VALUES (1)"),
    "insert of a literal": lambda o, t: text(f"INSERT INTO event_counters (org_id, last) VALUES ('{t.org}', 1)"),
    "insert from select": sql("INSERT INTO event_counters (org_id, last) SELECT org_id, 1 FROM deals"),
    "insert from select of a column": sql(
        "INSERT INTO event_counters (org_id, last) SELECT account_id, 1 FROM deals WHERE org_id = :ours"
    ),
    "insert from select star": sql(
        "INSERT INTO event_counters (org_id, last) SELECT * FROM event_counters WHERE org_id = :ours"
    ),
    "insert of others' names": sql(
        "INSERT INTO deal_contacts (org_id, deal_id, contact_id) SELECT :ours, deal_id, contact_id FROM deal_contacts"
    ),
    "insert from a union": sql(
        "INSERT INTO event_counters (org_id, last) SELECT :ours, 1 UNION ALL SELECT org_id, 1 FROM deals"
    ),
    "upsert for theirs": sql(
        "INSERT INTO event_counters (org_id, last) VALUES (:theirs, 1) ON CONFLICT (org_id) DO UPDATE SET last = 9"
    ),
    "upsert that moves": sql(
        "INSERT INTO event_counters (org_id, last) VALUES (:ours, 1)"
        " ON CONFLICT (org_id) DO UPDATE SET org_id = :theirs"
    ),
    "upsert with a subquery": sql(
        "INSERT INTO event_counters (org_id, last) VALUES (:ours, 1)"
        " ON CONFLICT (org_id) DO UPDATE SET last = (SELECT max(last) FROM event_counters)"
    ),
    "upsert of a credential": sql(
        "INSERT INTO credentials (org_id, id) VALUES (:ours, :ours) ON CONFLICT (key_id) DO UPDATE SET name = 'x'"
    ),
    "explain": sql("EXPLAIN SELECT * FROM deals WHERE org_id = :ours"),
    "unreadable": sql("SELECT FROM WHERE deals ((("),
}
"""None of these may reach the database."""

REFUSED_BY_DIALECT: dict[str, dict[str, Statement]] = {
    "sqlite": {
        "backquotes": sql("SELECT * FROM `deals`"),
        "brackets": sql("SELECT * FROM [deals]"),
        "schema": sql("SELECT * FROM main.deals"),
        "replace": sql("REPLACE INTO event_counters (org_id, last) VALUES (:theirs, 1)"),
        "insert or replace": sql("INSERT OR REPLACE INTO event_counters (org_id, last) VALUES (:theirs, 1)"),
        "pragma": sql("PRAGMA table_info(deals)"),
    },
    "postgresql": {
        "schema": sql("SELECT * FROM public.deals"),
        "only": sql("SELECT * FROM ONLY deals"),
        "table": sql("TABLE deals"),
        "sample": sql("SELECT * FROM deals TABLESAMPLE SYSTEM (100)"),
        "for update": sql("SELECT * FROM deals FOR UPDATE"),
        "lateral": sql(
            "SELECT a.name, d.name FROM accounts a, LATERAL (SELECT * FROM deals WHERE account_id = a.id) d"
            " WHERE a.org_id = :ours"
        ),
        "renamed columns": sql("SELECT * FROM deals AS d (id, org_id) WHERE d.org_id = :ours"),
        "escaped name": sql('SELECT * FROM U&"d\\0065als"'),
        "delete using": sql("DELETE FROM deal_contacts USING deals WHERE deals.org_id = :ours"),
        "delete in an expression": sql("WITH x AS (DELETE FROM deal_contacts RETURNING *) SELECT * FROM x"),
        "any of both": sql(
            "SELECT * FROM deals WHERE org_id = ANY(CAST(:list AS uuid[]))", list=lambda o, t: [o.org, t.org]
        ),
        "merge": sql("MERGE INTO deals USING accounts ON true WHEN MATCHED THEN DELETE"),
        "into": sql("SELECT * INTO copied FROM deals WHERE org_id = :ours"),
        "create as": sql("CREATE TABLE copied AS SELECT * FROM deals WHERE org_id = :ours"),
        "truncate": sql("TRUNCATE deal_contacts"),
        "copy": sql("COPY deals TO STDOUT"),
        "no policies": sql("ALTER TABLE deals NO FORCE ROW LEVEL SECURITY"),
        "code": sql("DO $$ BEGIN DELETE FROM deal_contacts; END $$"),
    },
}

LEGITIMATE: dict[str, Statement] = {
    "pinned twice": lambda o, t: select(Deal).where(col(Deal.org_id) == o.org),
    "core": lambda o, t: select(deals).where(deals.c.org_id == o.org),
    "turned around": sql("SELECT name FROM deals WHERE :ours = org_id"),
    "unqualified": sql("SELECT name FROM deals WHERE name <> '' AND (org_id = :ours AND status = 'open')"),
    "cast": sql("SELECT name FROM deals WHERE org_id = (:ours)"),
    "upper case": sql("SELECT D.NAME FROM DEALS D WHERE d.Org_Id = :ours"),
    "quoted": sql('SELECT "d"."name" FROM "deals" AS "d" WHERE "d"."org_id" = :ours'),
    "comments": sql("SELECT name /* why? */ FROM deals -- is it?\n WHERE org_id = :ours"),
    "a question in a string": sql("SELECT name FROM deals WHERE name <> 'what?' AND org_id = :ours"),
    "correlated exists": sql(
        "SELECT name FROM accounts a WHERE a.org_id = :ours"
        " AND EXISTS (SELECT 1 FROM deals d WHERE d.org_id = a.org_id AND d.account_id = a.id)"
    ),
    "correlated scalar": sql(
        "SELECT (SELECT max(d.name) FROM deals d WHERE d.org_id = a.org_id) FROM accounts a WHERE a.org_id = :ours"
    ),
    "left join": sql(
        "SELECT d.name, a.name FROM deals d LEFT JOIN accounts a ON a.org_id = d.org_id AND a.id = d.account_id"
        " WHERE d.org_id = :ours"
    ),
    "chain of left joins": sql(
        "SELECT m.subject, d.name, a.name FROM activities m"
        " LEFT JOIN deals d ON d.org_id = m.org_id AND d.id = m.deal_id"
        " LEFT JOIN accounts a ON a.org_id = d.org_id AND a.id = d.account_id WHERE m.org_id = :ours"
    ),
    "inner join": sql("SELECT d.name FROM deals d JOIN accounts a ON a.org_id = d.org_id AND a.org_id = :ours"),
    "union all": sql(
        "SELECT name FROM deals WHERE org_id = :ours UNION ALL SELECT name FROM accounts WHERE org_id = :ours"
        " ORDER BY name LIMIT 5"
    ),
    "window": sql(
        "SELECT name, row_number() OVER (PARTITION BY org_id ORDER BY created_at) FROM deals WHERE org_id = :ours"
    ),
    "derived table": sql(
        "SELECT x.name FROM (SELECT name, org_id FROM deals WHERE org_id = :ours) x"
        " JOIN accounts a ON a.org_id = x.org_id WHERE x.org_id = :ours"
    ),
    "common table expression": sql(
        "WITH x AS (SELECT id, name FROM deals WHERE org_id = :ours) SELECT x.name FROM x ORDER BY 1"
    ),
    "recursive": sql(
        "WITH RECURSIVE x(id, org_id) AS (SELECT id, org_id FROM deals WHERE org_id = :ours UNION ALL"
        " SELECT d.id, d.org_id FROM deals d JOIN x ON d.parent_deal_id = x.id WHERE d.org_id = :ours)"
        " SELECT count(*) FROM x"
    ),
    "padded list": lambda o, t: select(deals.c.name).where(
        and_(deals.c.org_id == o.org, deals.c.id.in_([o.deal, t.deal, t.deal, t.deal]))
    ),
    "aggregate": sql(
        "SELECT count(*) FILTER (WHERE status = 'open') FROM deals WHERE org_id = :ours HAVING count(*) > 0"
    ),
    "no table": sql("SELECT 1"),
    "credential": lambda o, t: select(Credential.name).where(col(Credential.org_id) == o.org),
    "update returning": sql("UPDATE deals SET name = 'new' WHERE org_id = :ours RETURNING id, name"),
    "update from": sql(
        "UPDATE deals SET name = a.name FROM accounts a"
        " WHERE deals.org_id = :ours AND a.org_id = deals.org_id AND a.id = deals.account_id"
    ),
    "update of a counter": sql("UPDATE event_counters SET last = last + 1 WHERE org_id = :ours RETURNING last"),
    "delete": sql("DELETE FROM deal_contacts WHERE org_id = :ours"),
    "orm insert": lambda o, t: insert(PipelineStage).values(_stage(o, "x")),
    "orm insert of several": lambda o, t: insert(PipelineStage).values([_stage(o, n) for n in "xyz"]),
    "orm insert returning": lambda o, t: (
        insert(Contact).values(Contact(org_id=o.org).model_dump(exclude={"match_name"})).returning(Contact.id)
    ),
    "insert from select": sql(
        "INSERT INTO deal_contacts (org_id, deal_id, contact_id, is_primary, linked_at)"
        " SELECT d.org_id, d.id, c.id, false, d.created_at FROM deals d JOIN contacts c ON c.org_id = d.org_id"
        " WHERE d.org_id = :ours ON CONFLICT DO NOTHING"
    ),
    "insert from select of a parameter": sql(
        "INSERT INTO event_counters (org_id, last) SELECT :ours, count(*) FROM deals WHERE org_id = :ours"
        " ON CONFLICT (org_id) DO UPDATE SET last = excluded.last"
    ),
    "on conflict do nothing": sql(
        "INSERT INTO event_counters (org_id, last) VALUES (:ours, 1) ON CONFLICT DO NOTHING RETURNING last"
    ),
    "upsert": sql(
        "INSERT INTO event_counters (org_id,last) VALUES (:ours,:last) ON CONFLICT (org_id)"
        " DO UPDATE SET last = event_counters.last + 1 RETURNING last",
        last=lambda o, t: 1,
    ),
}

LEGITIMATE_BY_DIALECT: dict[str, dict[str, Statement]] = {
    "sqlite": {
        "json": sql("SELECT e.value FROM deals d, json_each(d.competitors) e WHERE d.org_id = :ours"),
        "indexed": sql("SELECT name FROM deals INDEXED BY ix_deals_org_id_created_at WHERE org_id = :ours"),
    },
    "postgresql": {
        "lateral": sql(
            "SELECT a.name, x.name FROM accounts a LEFT JOIN LATERAL (SELECT d.name FROM deals d"
            " WHERE d.org_id = a.org_id AND d.account_id = a.id LIMIT 3) x ON true WHERE a.org_id = :ours"
        ),
        "for update": sql("SELECT name FROM deals WHERE org_id = :ours FOR UPDATE SKIP LOCKED"),
        "any": sql(
            "SELECT name FROM deals WHERE org_id = :ours AND id = ANY(CAST(:list AS uuid[]))",
            list=lambda o, t: [o.deal, t.deal],
        ),
        "distinct on": sql(
            "SELECT DISTINCT ON (account_id) name FROM deals WHERE org_id = CAST(:ours AS uuid) ORDER BY account_id, id"
        ),
        "delete using": sql(
            "DELETE FROM deal_contacts l USING deals d WHERE l.org_id = :ours AND d.org_id = l.org_id RETURNING l.role"
        ),
        "writing expression": sql(
            "WITH moved AS (UPDATE deals SET name = 'new' WHERE org_id = :ours RETURNING org_id, id)"
            " SELECT count(*) FROM moved"
        ),
    },
}
