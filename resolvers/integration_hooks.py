"""Providers' notices of changes: each is proven, and notes that streams have changed; nothing is read or made here.

They have no caller. What does not prove itself is refused in one way, whatever is wrong with it, and writes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import orjson

from contract.integrations import IntegrationProvider, IntegrationStreamKind
from jobs.sync import sources
from jobs.sync.notices import note, opened_notice
from providers.accounts.calls import Json
from providers.accounts.proofs import HEADERS, answer_to, is_signed
from resolvers.shared.context import Services
from storage.base import now
from storage.clusters import found_on_servers
from storage.queries import notices

_HANDSHAKE_MAX: Final = 1_000
_NOTICES_MAX: Final = 1_000
_HUDDLES: Final = ("huddle_thread",)
_CHANGES: Final = ("message_changed", "message_deleted")  # no set: a field of a notice may be anything, also an object
_RECORDINGS: Final = ("recording.completed", "recording.transcript_completed")
_ENDED: Final = "app_deauthorized"
"""Zoom's word that a member has removed the app there: the next run finds that the consent has ended."""


class NotProven(Exception):
    """The notice does not prove that it comes from the provider."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A request as it came: headers by their names in small letters, parameters of the address, and the body."""

    headers: Mapping[str, Sequence[str]] = field(repr=False)
    query: Mapping[str, Sequence[str]] = field(repr=False)
    body: bytes = field(repr=False)

    def header(self, name: str) -> str:
        """The header, which has to be there once. Raises NotProven."""
        values = self.headers.get(name, ())
        if len(values) != 1:
            raise NotProven
        return values[0]

    def document(self) -> Json:
        """The body's object. Raises NotProven."""
        try:
            found = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise NotProven from None
        if not isinstance(found, dict):
            raise NotProven
        return found


@dataclass(frozen=True, slots=True)
class Handshake:
    """The answer by which a provider finds out that the address is ours."""

    text: str | None = None
    document: Mapping[str, str] | None = None


async def take_notice(services: Services, provider: str, notice: Notice) -> Handshake | None:
    """Note what a provider tells of; the answer to its handshake, where it is one. Raises NotProven."""
    match provider:
        case IntegrationProvider.GOOGLE:
            await _of_google(services, notice)
            return None
        case IntegrationProvider.MICROSOFT:
            return await _of_microsoft(services, notice)
        case IntegrationProvider.SLACK:
            return await _of_slack(services, notice)
        case IntegrationProvider.ZOOM:
            return await _of_zoom(services, notice)
        case _:
            raise NotProven


async def _of_google(services: Services, notice: Notice) -> None:
    which = IntegrationProvider.GOOGLE
    told = _opened(services, which, notice.header("x-goog-channel-token"))
    if notice.header("x-goog-channel-id").lower() != told.watch_id:
        raise NotProven
    if notice.header("x-goog-resource-state") != "sync":  # which only says that the channel is there
        await _note(services, told)


async def _of_microsoft(services: Services, notice: Notice) -> Handshake | None:
    """Note what each notification of a body tells of, all of which have to be proven (decision 914)."""
    which = IntegrationProvider.MICROSOFT
    if which not in services.accounts.providers:
        raise NotProven
    asked = notice.query.get("validationToken")
    if asked is not None:
        if len(asked) != 1 or not 0 < len(asked[0]) <= _HANDSHAKE_MAX:
            raise NotProven
        return Handshake(text=asked[0])
    listed = notice.document().get("value")
    if not isinstance(listed, list) or not 0 < len(listed) <= _NOTICES_MAX:
        raise NotProven
    told: dict[_Told, bool] = {}
    for each in listed:
        state = each.get("clientState") if isinstance(each, dict) else None
        if not isinstance(state, str):
            raise NotProven
        opened = _opened(services, which, state)
        renews = each.get("lifecycleEvent") in ("reauthorizationRequired", "subscriptionRemoved")
        told[opened] = told.get(opened, False) or renews
    for one, renews in told.items():  # one, unless the provider tells of several subscriptions at a time
        await _note(services, one, renews=renews)
    return None


async def _of_slack(services: Services, notice: Notice) -> Handshake | None:
    document = _signed(services, IntegrationProvider.SLACK, notice)
    if document.get("type") == "url_verification":
        return Handshake(document={"challenge": _short(document.get("challenge"))})
    event, team = document.get("event"), document.get("team_id")
    channel = event.get("channel") if isinstance(event, dict) else None
    if isinstance(team, str) and isinstance(channel, str) and isinstance(event, dict) and _is_of_huddle(event):
        await _note_account(services, IntegrationProvider.SLACK, team, IntegrationStreamKind.CHANNEL, channel)
    return None


async def _of_zoom(services: Services, notice: Notice) -> Handshake | None:
    which = IntegrationProvider.ZOOM
    document = _signed(services, which, notice)
    payload = document.get("payload")
    told = payload if isinstance(payload, dict) else {}
    if document.get("event") == "endpoint.url_validation":
        return Handshake(document=answer_to(services.accounts.signing[which], _short(told.get("plainToken"))))
    event, meeting = document.get("event"), told.get("object")
    account = told.get("user_id") if event == _ENDED else None
    if event in _RECORDINGS and isinstance(meeting, dict):
        account = meeting.get("host_id")
    if isinstance(account, str):
        await _note_account(services, which, account, IntegrationStreamKind.RECORDINGS, None)
    return None


def _signed(services: Services, which: IntegrationProvider, notice: Notice) -> Json:
    """The object of a body that the provider signed lately. Raises NotProven."""
    secret = services.accounts.signing.get(which)
    moment, given = (notice.header(name) for name in HEADERS[which])
    if secret is None or not is_signed(secret, moment, given, notice.body, now()):
        raise NotProven
    return notice.document()


def _short(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _HANDSHAKE_MAX:
        raise NotProven
    return value


def _is_of_huddle(event: Json) -> bool:
    """Says whether an event is about the message of a huddle; of other messages nothing is looked at."""
    if event.get("type") != "message":
        return False
    if event.get("subtype") in _HUDDLES:
        return True
    parts = [event.get("message"), event.get("previous_message")] if event.get("subtype") in _CHANGES else []
    return any(isinstance(each, dict) and each.get("subtype") in _HUDDLES for each in parts)


@dataclass(frozen=True, slots=True)
class _Told:
    """A channel of ours, by which a proven notice came."""

    org_id: str
    watch_id: str


def _opened(services: Services, which: IntegrationProvider, token: str) -> _Told:
    """The channel that a notice's word was made for. Raises NotProven."""
    found = opened_notice(services.identity.pepper, which.value, token)
    if found is None or which not in services.accounts.providers:
        raise NotProven
    return _Told(*found)


async def _note(services: Services, told: _Told, *, renews: bool = False) -> None:
    """Note a change of the stream that a channel is for; nothing where it is gone."""
    async with services.database.reading(told.org_id) as session:
        watch = await notices.watch(session, told.watch_id)
    if watch is None:
        return
    present = now()
    if renews and watch.renews_at > present:
        async with services.database.writing(told.org_id) as session:
            found = await notices.watch(session, told.watch_id)
            if found is not None:
                await session.update(found, renews_at=present)
    await note(services.database, told.org_id, {watch.integration_id: [watch.stream_id]}, present)


async def _note_account(
    services: Services, which: IntegrationProvider, account: str, kind: IntegrationStreamKind, name: str | None
) -> None:
    """Note a change in an account, by the streams of the kind that follow it, all or the one of this name."""
    present: datetime = now()
    keys = sources.account_keys(services.identity.pepper, which.value, account)
    leads = await found_on_servers(services.database, lambda session: notices.leads(session, which.value, keys))
    for lead in leads:  # one, unless several organizations have connected the account
        async with services.database.reading(lead.org_id) as session:
            streams = await notices.streams_of_kind(session, lead.integration_id, kind.value)
        ids = [stream.id for stream in streams if name is None or stream.external_id == name]
        if ids:
            await note(services.database, lead.org_id, {lead.integration_id: ids}, present)
