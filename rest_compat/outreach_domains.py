"""The outreach domains' path (specification 4.9)."""

from __future__ import annotations

from typing import Any

from resolvers.outreach_domains import list_domains
from rest_compat.operations import Answer, Call


async def listing(call: Call) -> Answer:
    """All domains, by name."""
    return Answer([document(row) for row in await list_domains(call.ctx)])


def document(row: Any) -> dict[str, Any]:
    """The domain record."""
    return {
        "id": row.id,
        "org_id": row.org_id,
        "name": row.name,
        "status": row.status,
        "spf": row.spf,
        "dkim": row.dkim,
        "dmarc": row.dmarc,
        "mailbox_count": row.mailbox_count,
        "created_at": row.created_at,
    }
