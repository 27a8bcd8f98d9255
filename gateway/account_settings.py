"""The settings of accounts elsewhere that members connect by consent."""

from enum import StrEnum
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from contract.integrations import POLL_SECONDS
from contract.web_address import is_web_address
from gateway.addresses import is_loopback_name


class SlackTier(StrEnum):
    """Says how Slack limits the app's looks into channels."""

    DISTRIBUTED = "distributed"
    INTERNAL = "internal"


def _elsewhere(name: str, port: int) -> str | None:
    """Declares where a provider lies in tests."""
    words = f"Where {name}'s interfaces lie instead, by https or on this machine; for tests."
    return Field(default=None, description=words, examples=[f"http://127.0.0.1:{port}"])


class AccountSettings(BaseSettings):
    """The operator's clients at the providers."""

    google_client_id: str = Field(
        default="",
        description="The OAuth client by which members connect Google accounts.",
        examples=["1234567890-abc.apps.googleusercontent.com"],
    )
    google_client_secret: SecretStr = Field(
        default=SecretStr(""), description="The secret of that client.", examples=["the-secret-of-the-client"]
    )
    google_base_url: str | None = _elsewhere("Google", 9000)
    microsoft_client_id: str = Field(
        default="",
        description="The application by which members connect Microsoft accounts.",
        examples=["00001111-aaaa-2222-bbbb-3333cccc4444"],
    )
    microsoft_client_secret: SecretStr = Field(
        default=SecretStr(""),
        description="A client secret of that application.",
        examples=["the-secret-of-the-application"],
    )
    microsoft_tenant: str = Field(
        default="common",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$",
        description="Whose accounts may sign in there: `common` everybody's, `organizations` those of work and school, "
        "`consumers` personal ones, or the tenant of one organization, by its identifier or domain.",
        examples=["organizations"],
    )
    microsoft_base_url: str | None = _elsewhere("Microsoft", 9000)
    slack_client_id: str = Field(
        default="",
        description="The Slack app by which administrators connect their workspace.",
        examples=["2141029472.691202649728"],
    )
    slack_client_secret: SecretStr = Field(
        default=SecretStr(""), description="The secret of that app.", examples=["the-secret-of-the-app"]
    )
    slack_signing_secret: SecretStr = Field(
        default=SecretStr(""),
        description="The secret under which Slack signs its notices of huddles; without it channels are looked at now "
        "and then, and huddles whose message Slack deletes are missed.",
        examples=["the-signing-secret-of-the-app"],
    )
    slack_tier: SlackTier = Field(
        default=SlackTier.DISTRIBUTED,
        description="How often Slack lets the app look into channels: once a minute, or as an app of the workspace's "
        "own or of Slack's marketplace (`internal`).",
    )
    slack_base_url: str | None = _elsewhere("Slack", 9001)
    zoom_client_id: str = Field(
        default="",
        description="The Zoom app by which members connect their accounts.",
        examples=["the-id-of-the-app"],
    )
    zoom_client_secret: SecretStr = Field(
        default=SecretStr(""), description="The secret of that app.", examples=["the-secret-of-the-app"]
    )
    zoom_webhook_secret: SecretStr = Field(
        default=SecretStr(""),
        description="The secret token under which Zoom signs its notices; without it accounts are looked at now and "
        "then.",
        examples=["the-secret-token-of-the-app"],
    )
    zoom_base_url: str | None = _elsewhere("Zoom", 9002)
    sync_poll_seconds: int = Field(
        default=POLL_SECONDS,
        ge=30,
        le=86_400,
        description="The pause between two looks at a connected account.",
        json_schema_extra={"unit": "seconds"},
    )

    @field_validator(
        *("google_client_id", "google_client_secret", "microsoft_client_id", "microsoft_client_secret"),
        *("slack_client_id", "slack_client_secret", "slack_signing_secret"),
        *("zoom_client_id", "zoom_client_secret", "zoom_webhook_secret"),
    )
    @classmethod
    def _visible(cls, value: SecretStr | str) -> SecretStr | str:
        text = value if isinstance(value, str) else value.get_secret_value()
        if not all("!" <= c <= "~" for c in text):
            raise ValueError("must be visible ASCII, without blanks")
        return value

    @field_validator("google_base_url", "microsoft_base_url", "slack_base_url", "zoom_base_url")
    @classmethod
    def _unheard(cls, value: str | None) -> str | None:
        """Tokens go there, so nobody may listen in."""
        if value is None:
            return None
        parts = urlsplit(value) if is_web_address(value) else urlsplit("")
        if not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("must be an https:// address that ends with its path, and hold no user")
        if parts.scheme != "https" and not is_loopback_name(parts.hostname or ""):
            raise ValueError("must be https, or on this machine")
        return value


def is_given(settings: AccountSettings, variable: str) -> bool:
    """Says whether the variable is set."""
    value = getattr(settings, variable.removeprefix("CRM_").lower())
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)
