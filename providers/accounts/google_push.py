"""Channels by which Google tells of changes to a calendar."""

from datetime import UTC, datetime

from contract.integrations import IntegrationProblemCode
from providers.accounts.calls import AccountApi
from providers.accounts.ports import AccountError
from providers.accounts.watching import Channel, Watched


async def watch(api: AccountApi, events: str, token: str, channel: Channel) -> Watched:
    """Ask for notices of changes to the calendar whose events lie at this address. Raises AccountError."""
    asked = {
        "id": channel.id,
        "type": "web_hook",
        "address": channel.address,
        "token": channel.token,
        "expiration": round(channel.until.timestamp() * 1000),
    }
    answer = await api.send(f"{events}/watch", token, asked)
    resource, expires = answer.get("resourceId"), str(answer.get("expiration") or "")
    if not isinstance(resource, str) or not 0 < len(resource) <= 1_000:
        raise AccountError(IntegrationProblemCode.PROVIDER_ANSWER, "Google granted a channel without saying which.")
    granted = channel.until
    if expires.isascii() and expires.isdecimal() and len(expires) <= 13:
        granted = min(granted, datetime.fromtimestamp(int(expires) / 1000, UTC))
    return Watched(resource, granted)


async def unwatch(api: AccountApi, base: str, token: str, channel_id: str, reference: str) -> None:
    """Stop a channel. Raises AccountError."""
    await api.send(f"{base}/channels/stop", token, {"id": channel_id, "resourceId": reference})
