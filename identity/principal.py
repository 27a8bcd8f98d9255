"""Says who is calling, in which organization, with which scopes."""

from dataclasses import dataclass
from datetime import datetime

from contract.vocabulary import CredentialKind


@dataclass(frozen=True, slots=True)
class Organization:
    """A tenant: `id` is the key of its rows, `external_id` what X-Service-Org calls it (decision 5)."""

    id: str
    external_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Belonging:
    """An organization that a member is in, with the scopes that hold there."""

    organization: Organization
    scopes: frozenset[str]
    position: int | None = None
    """How far the organization's change log went when this was read, where that was asked for (decision 996)."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of one request.

    `scopes` are those of the active organization; without one, of all the caller's organizations together, which then
    guard only what belongs to the caller alone (decision 6). `expires_at` is the end of the credential, where it has
    one; `is_exchanged` says that not the credential itself came but the access token that it was exchanged for.
    """

    subject: str
    kind: CredentialKind
    scopes: frozenset[str]
    organization: Organization | None
    organizations: tuple[Organization, ...]
    name: str | None = None
    email: str | None = None
    credential_id: str | None = None
    expires_at: datetime | None = None
    is_exchanged: bool = False
    session_ends_at: datetime | None = None
    """The end of the session or access token that came, where one did."""
    position: int | None = None
    """How far the active organization's change log went when the credential was read, where that was asked for."""

    @property
    def manages_user_tokens(self) -> bool:
        """Says whether the caller came with what its user tokens may be touched with (decision 154)."""
        return not self.is_exchanged and self.kind is not CredentialKind.ORGANIZATION_KEY
