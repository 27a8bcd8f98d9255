"""Bounds signing in at the embedded identity provider."""

from enum import StrEnum

SESSION_SECONDS = 12 * 3600
"""A browser is signed in for so long, and so long are refresh tokens good."""
TOKEN_SECONDS = 3600
"""What a session token of a login is good for: as long as one that the command `token` prints."""
CODE_SECONDS = 60
LOGIN_LINK_SECONDS = 15 * 60
PASSWORD_LINK_SECONDS = 3 * 24 * 3600
LINK_SECONDS_MAX = 30 * 24 * 3600

PASSWORD_MIN = 12
PASSWORD_MAX = 128

LOGINS_AT_ADDRESS = 50
LOGINS_AT_ADDRESS_SECONDS = 6
"""Attempts to sign in from one address, and the seconds in which one comes back."""
LOGINS_OF_ACCOUNT = 10
LOGINS_OF_ACCOUNT_SECONDS = 60
"""The same of one e-mail address at one address (decision 893)."""


class TicketKind(StrEnum):
    """Names what is good once: two kinds of links, a code for a session token, and a token for the next one."""

    LOGIN_LINK = "login_link"
    PASSWORD_LINK = "password_link"
    CODE = "code"
    REFRESH_TOKEN = "refresh_token"
