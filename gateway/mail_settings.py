"""The settings of mail."""

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from contract.limits import MAILS_PER_DAY
from providers.mail_address import check_sender, mail_server

SENDER = "crm@localhost"


class MailSettings(BaseSettings):
    """The mail server, and what goes there."""

    mail_url: SecretStr = Field(
        default=SecretStr(""),
        description="smtp://USER:PASSWORD@HOST:587 (by STARTTLS; ?starttls=off on this machine), smtps://…:465 or "
        "file:///…; the folder `outbox` in the data folder unless set.",
        examples=["smtps://crm:…@mail.example:465"],
    )
    mail_from: str = Field(
        default=SENDER,
        validate_default=True,
        description="Who messages are from; needed with a mail server.",
        examples=["CRM <crm@example.com>"],
    )
    mail_per_day: int = Field(
        default=MAILS_PER_DAY,
        ge=0,
        le=1_000_000,
        description="Messages that an organization may have sent on a day of UTC.",
        json_schema_extra={"unit": "messages"},
    )

    @field_validator("mail_url")
    @classmethod
    def _mail_server(cls, value: SecretStr) -> SecretStr:
        mail_server(value.get_secret_value())
        return value

    @field_validator("mail_from")
    @classmethod
    def _sender(cls, value: str, info: ValidationInfo) -> str:
        check_sender(value)
        url = info.data.get("mail_url")
        if url is not None and value == SENDER and mail_server(url.get_secret_value()) is not None:
            raise ValueError("is needed beside CRM_MAIL_URL")
        return value
