"""The demo: organizations with life in them, and what a newcomer pastes to look around."""

from dataclasses import dataclass
from functools import partial
from itertools import count

from gateway.demo import calendar
from gateway.demo.chats import renew_chat
from gateway.demo.documents import write_documents
from gateway.demo.links import DemoLinks, Invitation, token_for
from gateway.demo.research import write_research
from gateway.made import embedded_issuer
from gateway.settings import Settings
from identity import secrets
from identity.keyfiles import pepper
from jobs import campaigns
from resolvers.health import refresh_many
from storage.base import now
from storage.database import Database
from storage.seeding import Demo, seed_demo
from storage.seeding.former import add_former
from storage.seeding.history import add_history
from storage.seeding.outreach import add_outreach
from storage.seeding.tags import add_tags, add_targets
from storage.tables import Credential

_KEYS = ("Nightly export", "Website forms")
_SHOWN_KEY = "The terminal's"


@dataclass(frozen=True, slots=True)
class Ready:
    """The texts to paste: a session token of the demo's administrator, an organization key of theirs, which is shorter,
    and the organization; `created` if it is new.
    """

    created: bool
    administrator: Invitation
    token: str
    key: str

    @property
    def organization(self) -> str:
        return self.administrator.organization


async def prepare(settings: Settings, database: Database) -> Ready:
    """The demo data, written once, and a new token."""
    demo = await seed_demo(database, now=now(), score=partial(refresh_many, database))
    if demo.created:
        await _write_keys(settings, database, demo)
        await write_research(database, demo.organization, demo.member)
        await _write_outreach(database, demo)
        async with database.writing(demo.organization) as session:
            await add_former(session, now())
        for organization in (demo.organization, demo.other_organization):
            async with database.writing(organization) as session:
                await add_tags(session)
                await add_targets(session, now(), [demo.admin, demo.member])
                await add_history(session, now(), [demo.admin, demo.member])
        await write_documents(settings, database, demo)
    else:
        await renew_chat(database, demo.organization)
    await calendar.connect(database, pepper(settings.data_dir), demo.organization, demo.admin)
    administrator = Invitation(demo.admin, demo.organization)
    token = token_for(embedded_issuer(settings), administrator)
    return Ready(demo.created, administrator, token, await _shown_key(settings, database, demo))


def code_for(settings: Settings, ready: Ready) -> str:
    """A new one-time code that signs the same administrator in."""
    return DemoLinks(settings.data_dir).make(ready.administrator)


async def _shown_key(settings: Settings, database: Database, demo: Demo) -> str:
    """An organization key that is the same at each start (decision 873); another one where it was revoked meanwhile."""
    secret = pepper(settings.data_dir)
    async with database.writing(demo.organization) as session:
        for number in count():  # the first is nearly always the one
            minted = secrets.derived("ak", bytes(secret), f"demo {number}")
            found = await session.find(Credential, key_id=minted.key_id)
            if found is None:
                await session.insert_missing(_organization_key(minted, secret, demo, demo.admin, _SHOWN_KEY))
            if found is None or found.revoked_at is None:
                return minted.text
    raise AssertionError("unreachable")


def _organization_key(minted: secrets.Minted, pepper: bytes, demo: Demo, owner: str, name: str) -> Credential:
    return Credential(
        kind="organization_key",
        key_id=minted.key_id,
        secret_hash=secrets.stored(minted.secret, pepper),
        hint=minted.hint,
        name=name,
        org_id=demo.organization,
        owner_subject=owner,
    )


async def _write_keys(settings: Settings, database: Database, demo: Demo) -> None:
    """Keys to be seen in the list; their secrets are thrown away."""
    async with database.writing(demo.organization) as session:
        for name in _KEYS:
            key = _organization_key(secrets.mint("ak"), pepper(settings.data_dir), demo, demo.member, name)
            await session.insert(key)


async def _write_outreach(database: Database, demo: Demo) -> None:
    """Campaigns, which the embedded provider gets like any other; it sends nothing."""
    async with database.writing(demo.organization) as session:
        await campaigns.tell(session, await add_outreach(session, now()))
