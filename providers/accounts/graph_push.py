"""Subscriptions by which Microsoft Graph tells of changes to a calendar (decision 983)."""

from datetime import timedelta

from contract.integrations import IntegrationProblemCode
from providers.accounts.calls import AccountApi
from providers.accounts.ports import AccountError
from providers.accounts.shown import changed, identifier_of
from providers.accounts.watching import Channel, Watched

_SHORTER = timedelta(hours=2)
"""By so much less than three days is asked for: 4,230 minutes were the most of a calendar for long."""


async def watch(api: AccountApi, base: str, token: str, resource: str, channel: Channel) -> Watched:
    """Ask for notices of changes to what lies at `resource`, and of what becomes of the subscription itself.

    Graph tries both addresses before it answers. Raises AccountError.
    """
    until = channel.until - _SHORTER
    asked = {
        "changeType": "created,updated,deleted",
        "notificationUrl": channel.address,
        "lifecycleNotificationUrl": channel.address,
        "resource": resource,
        "expirationDateTime": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "clientState": channel.token,
    }
    answer = await api.send(f"{base}/subscriptions", token, asked)
    name = identifier_of(answer.get("id"))
    if name is None:
        words = "Microsoft granted a subscription without saying which."
        raise AccountError(IntegrationProblemCode.PROVIDER_ANSWER, words)
    return Watched(name, min(until, changed(answer.get("expirationDateTime")) or until))
