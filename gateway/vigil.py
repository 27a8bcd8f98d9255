"""Looking again, while a stream runs, whether the credential that began it still holds (decision 82)."""

import asyncio
from dataclasses import dataclass, field

from contract.errors import GatewayError, Unauthenticated, Unavailable
from gateway.admission import Path, group_of, path_of
from gateway.streams import Streams
from identity.principal import Principal
from resolvers.context import Context

PAUSE_SECONDS = 2.0


@dataclass(slots=True)
class Vigil:
    """A credential as it came, and from where; whom it stands for now, and the contexts that act for it."""

    streams: Streams
    authorization: str | None
    organization: str | None
    address: str
    principal: Principal | None = None
    _acting: dict[int, Context] = field(default_factory=dict)

    async def begin(self) -> None:
        """Find out who is calling; without a credential nobody is. Raises what `authenticate` raises."""
        if self.authorization is not None:
            self.principal = await self.streams.identity.authenticate(
                self.authorization, self.organization, self.address
            )

    @property
    def path(self) -> Path:
        """Where what the caller does is counted."""
        return path_of(None if self.principal is None else group_of(self.principal), self.address)

    def acting(self, context: Context) -> Context:
        """Have the context follow what becomes of the caller."""
        self._acting[id(context)] = context
        return context

    def done(self, context: Context) -> None:
        """The context acts no more."""
        self._acting.pop(id(context), None)

    async def until_refused(self) -> GatewayError:
        """Wait until the credential no longer stands for the caller, with the scopes of the beginning at least.

        A database that is away refuses nobody: its answer is waited for.
        """
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            if self.principal is None or self.authorization is None:
                continue
            try:
                found = await self.streams.look(self.authorization, self.organization)
            except Unavailable:
                continue
            except GatewayError as error:
                return error
            if not self.principal.scopes <= found.scopes or self.principal.organization != found.organization:
                return Unauthenticated("The caller's scopes have changed")
            for context in self._acting.values():
                context.principal = found
