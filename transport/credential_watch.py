"""Looking again, before an operation and while a stream runs, whether its credential still holds (decision 82)."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from contract.errors import GatewayError, Unauthenticated
from identity.principal import Principal
from resolvers.shared.access import Rule
from resolvers.shared.context import Context
from transport.places import Path, group_of, path_of
from transport.streams import Streams


@dataclass(slots=True)
class CredentialWatch:
    """A credential as it came, and from where; whom it stands for now, and the contexts that act for it."""

    streams: Streams
    authorization: str | None
    organization: str | None
    address: str
    principal: Principal | None = None
    keeps: Rule | None = None
    """The rule that is enough to go on; every scope of the beginning is needed unless given."""
    _acting: dict[int, Context] = field(default_factory=dict)

    async def begin(self) -> None:
        """Find out who is calling; without a credential nobody is. Raises what `authenticate` raises."""
        if self.authorization is not None:
            self.principal = await self.streams.identity.authenticate(
                self.authorization, self.organization, self.address
            )

    async def renew(self) -> None:
        """Look whether the credential still holds, at this moment. Raises what `authenticate` raises."""
        if self.authorization is not None:
            self._follow(await self.streams.identity.authenticate(self.authorization, self.organization, self.address))

    async def look(self) -> Principal:
        """Find whom the credential stands for, as of a second ago at most. Raises what `authenticate` raises."""
        if self.authorization is None:
            raise Unauthenticated()
        return await self.streams.look(self.authorization, self.organization)

    @property
    def path(self) -> Path:
        """The path of groups under which what the caller does is counted."""
        return path_of(None if self.principal is None else group_of(self.principal), self.address)

    def acting(self, context: Context) -> Context:
        """Have the context follow what becomes of the caller."""
        self._acting[id(context)] = context
        return context

    def done(self, context: Context) -> None:
        self._acting.pop(id(context), None)

    def end(self) -> None:
        """Nothing acts for the caller any more: let go of the contexts, which have this watch (decision 1170)."""
        self._acting.clear()

    def watching(self, refuse: Callable[[GatewayError], None]) -> AbstractContextManager[None]:
        """Look whether the credential goes on standing for the caller, and say so once it does not.

        A database that is away refuses nobody: its answer is waited for.
        """
        if self.principal is None or self.authorization is None:
            return nullcontext()
        return self.streams.watching(_Watched(self._follow, refuse), (self.authorization, self.organization))

    async def until_refused(self) -> GatewayError:
        """Wait until the credential no longer stands for the caller, with the scopes of the beginning at least."""
        refused: asyncio.Future[GatewayError] = asyncio.get_running_loop().create_future()

        def refuse(error: GatewayError) -> None:
            if not refused.done():
                refused.set_result(error)

        with self.watching(refuse):
            return await refused

    def _follow(self, found: Principal) -> None:
        """Act for the caller as it is now. Raises Unauthenticated where that is less than at the beginning."""
        began = self.principal
        if began is None or began.organization != found.organization or not self._may_go_on(began, found):
            raise Unauthenticated("The caller's scopes have changed")
        for context in self._acting.values():
            context.principal = began if began == found else found  # which is held anyway

    def _may_go_on(self, began: Principal, found: Principal) -> bool:
        return began.scopes <= found.scopes if self.keeps is None else self.keeps.admits(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Watched:
    """What goes on with a credential."""

    found: Callable[[Principal], None]
    refuse: Callable[[GatewayError], None]
