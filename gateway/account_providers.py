"""Makes the providers whose accounts can be connected, of what the settings say of each; each is loaded where it is
set up.
"""

from functools import partial
from urllib.parse import urlsplit

from contract.integrations import BY_PROVIDER, CATALOGUE, IntegrationProvider
from contract.web_address import origin_of_address
from gateway.account_settings import SlackTier, is_given
from gateway.addresses import is_loopback_name
from gateway.observability.metrics import count_renewal, count_sync
from gateway.settings import Settings
from providers.accounts.consents import AccountProvider, Accounts
from providers.calls import Calls


def accounts_of(settings: Settings, calls: Calls) -> Accounts:
    """The providers whose accounts can be connected: those of which everything that it takes is set."""
    public_url = (settings.public_url or "").rstrip("/")
    missing = frozenset(name for info in CATALOGUE for name in info.settings if not is_given(settings, name))
    makers = {
        IntegrationProvider.GOOGLE: _google,
        IntegrationProvider.MICROSOFT: _microsoft,
        IntegrationProvider.ZOOM: _zoom,
        IntegrationProvider.SLACK: _slack,
    }
    providers: dict[IntegrationProvider, AccountProvider] = {
        provider: made(settings, calls)
        for provider, made in makers.items()
        if not missing.intersection(BY_PROVIDER[provider].settings)
    }
    for provider, made in providers.items():
        made.oauth.count_renewal = partial(count_renewal, provider.value)
    origins = frozenset(filter(None, (*settings.cors_origins, origin_of_address(public_url)))) - {"*"}
    parts = urlsplit(public_url)
    return Accounts(
        providers,
        missing,
        public_url,
        origins,
        settings.sync_poll_seconds,
        is_reached=parts.scheme == "https" or is_loopback_name(parts.hostname or ""),
        signing=_signing(settings),
        count_run=count_sync,
    )


def _signing(settings: Settings) -> dict[IntegrationProvider, bytes]:
    """The secrets under which providers sign their notices, where they are set."""
    given = {
        IntegrationProvider.ZOOM: settings.zoom_webhook_secret,
        IntegrationProvider.SLACK: settings.slack_signing_secret,
    }
    return {which: secret.get_secret_value().encode() for which, secret in given.items() if secret.get_secret_value()}


def _google(settings: Settings, calls: Calls) -> AccountProvider:
    from providers.accounts.google import GoogleAccounts

    secret = settings.google_client_secret.get_secret_value()
    return GoogleAccounts(settings.google_client_id, secret, settings.google_base_url, calls=calls)


def _microsoft(settings: Settings, calls: Calls) -> AccountProvider:
    from providers.accounts.microsoft import MicrosoftAccounts

    secret = settings.microsoft_client_secret.get_secret_value()
    tenant, base_url = settings.microsoft_tenant, settings.microsoft_base_url
    return MicrosoftAccounts(settings.microsoft_client_id, secret, tenant, base_url, calls=calls)


def _zoom(settings: Settings, calls: Calls) -> AccountProvider:
    from providers.accounts.zoom import ZoomAccounts

    secret = settings.zoom_client_secret.get_secret_value()
    return ZoomAccounts(settings.zoom_client_id, secret, settings.zoom_base_url, calls=calls)


def _slack(settings: Settings, calls: Calls) -> AccountProvider:
    from providers.accounts.slack import SlackAccounts

    secret, is_internal = settings.slack_client_secret.get_secret_value(), settings.slack_tier is SlackTier.INTERNAL
    return SlackAccounts(
        settings.slack_client_id, secret, settings.slack_base_url, is_internal=is_internal, calls=calls
    )
