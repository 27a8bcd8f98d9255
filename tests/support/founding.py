"""Makes an organization with its members in two transactions; the directory takes two for each of them."""

from __future__ import annotations

from collections.abc import Sequence

from contract.normal_form import folded
from contract.scopes import Role
from identity.principal import Organization
from storage import tables
from storage.base import now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries.organizations import put_stub
from storage.tables import EventCounter, Member, Membership, Person

Joining = tuple[Role, str, str, str]
"""Somebody who belongs to it from its beginning: role, subject, name, e-mail address."""


async def found(
    database: Database, organization: Organization, people: Sequence[Joining], cluster: str | None = None
) -> None:
    """Insert the rows that the directory would; `tests/identity/test_founding.py` compares them.

    The organization lies on the server of this name, if one is named.
    """
    org_id, moment = organization.id, now()
    moved_at = None
    if database.clusters is not None and cluster is not None:
        moved_at = moment
        await put_stub(database.clusters.others[cluster], org_id, cluster)
        database.clusters.note([(org_id, cluster, moment)])
    async with database.directory(writing=True) as session:
        await session.insert(
            new_row(
                tables.Organization,
                id=org_id,
                external_id=organization.external_id,
                name=organization.name,
                cluster=cluster,
                moved_at=moved_at,
            ),
            *(new_row(Member, subject=subject, name=name, email=email) for _, subject, name, email in people),
            *(
                new_row(
                    Membership,
                    org_id=org_id,
                    subject=subject,
                    role=role.value,
                    scopes=sorted(role.scopes),
                    created_at=moment,
                )
                for role, subject, _, _ in people
            ),
        )
    async with database.writing(org_id) as session:
        await session.insert(
            new_row(EventCounter),
            *(
                new_row(
                    Person,
                    id=subject,
                    name=name,
                    email=email,
                    folded_name=folded(name),
                    folded_email=folded(email),
                    role=role.value,
                    joined_at=moment,
                )
                for role, subject, name, email in people
            ),
        )
