"""Holds what a resolver has at hand for one request: the services, the caller, and loaders that batch its look-ups."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from contract.costs import CostReport
from contract.errors import OrganizationRequired, Path, Unauthenticated
from contract.limits import CREDENTIALS_MAX, FILE_MAX_BYTES, FILES_QUOTA_BYTES, MAILS_PER_DAY
from identity.authenticate import Identity
from identity.budget import Budget, Unmetered
from identity.principal import Organization, Principal
from providers.accounts.consents import Accounts
from providers.artifacts import Artifacts
from providers.chat_models import ChatModel
from providers.children.pool import Children
from providers.local_sequencing import LocalSequencing
from providers.models import Model
from providers.notifications import Notifications
from providers.outbound import Outbound
from providers.sequencing import Sequencing
from resolvers.shared.chat_counts import ChatCounts
from resolvers.shared.chat_options import ChatOptions
from resolvers.shared.deadline import Deadlines
from resolvers.shared.lanes import Lanes
from resolvers.shared.leases import Leases
from resolvers.shared.loader import Batch, K, Loader, V
from resolvers.shared.measured import MeasuredUploads
from resolvers.shared.pacing import Pacing
from resolvers.shared.places import ExportPlaces, Places
from resolvers.shared.run_tasks import RunTasks
from resolvers.shared.settling import Settling
from resolvers.shared.tools import Tools
from storage.analytics.values import Runner
from storage.base import now
from storage.change_feed import ChangeFeed
from storage.clusters import servers_of
from storage.database import Database
from storage.statements import AnyRow
from storage.tenancy.sessions import TenantSession

if TYPE_CHECKING:
    from storage.queries.along import Came  # with what can be listed, which is most of the tables


class Acting(Protocol):
    """The one who writes: a request, or a job on behalf of who asked for it."""

    @property
    def org_id(self) -> str:
        """The key of the organization's rows."""

    @property
    def subject(self) -> str:
        """The subject of the member who acts."""

    @property
    def request_id(self) -> str | None:
        """The request's identifier; None for a job."""

    @property
    def via(self) -> Mapping[str, str]:
        """The way that a write came, as events tell it."""


@dataclass(frozen=True, slots=True)
class OnBehalf:
    """A job that acts as who asked for it, and what its events say of that."""

    org_id: str
    subject: str
    via: Mapping[str, str]
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Says how many bytes one file may have, and all of an organization together."""

    one: int = FILE_MAX_BYTES
    all: int = FILES_QUOTA_BYTES


@dataclass(frozen=True, slots=True)
class Services:
    """The services that the process shares between requests."""

    database: Database
    identity: Identity
    notifications: Notifications
    artifacts: Artifacts
    feed: ChangeFeed
    sequencing: Sequencing = field(default_factory=LocalSequencing)
    outbound: Outbound = field(default_factory=Outbound)
    children: Children = field(default_factory=Children)
    accounts: Accounts = field(default_factory=Accounts)
    """The providers whose accounts can be connected by consent."""
    budget: Budget = field(default_factory=Unmetered)
    credentials_max: int = CREDENTIALS_MAX
    """The number of live keys that a member may have in an organization, and that of user tokens."""
    settling: Settling = field(default_factory=Settling)
    deadlines: Deadlines = field(default_factory=Deadlines)
    files: FileLimits = field(default_factory=FileLimits)
    measured: MeasuredUploads = field(default_factory=MeasuredUploads)
    public_url: str = ""
    """The beginning of links, without a slash at its end; empty where they begin with the path (decision 96)."""
    mails_per_day: int = MAILS_PER_DAY
    """The messages that an organization may have sent on a day of UTC."""
    turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """The locks that give requests under one idempotency key their turns."""
    lanes: Lanes = field(default_factory=Lanes)
    runs: RunTasks = field(default_factory=RunTasks)
    pacing: Pacing = field(default_factory=Pacing)
    """The questions that this process works on."""
    clock: Callable[[], datetime] = now
    """Tells what today is, for questions that say so."""
    sql: Runner | None = None
    """The runner of callers' statements; None where it is not set up."""
    model: Model | None = None
    """The operator's language model; None where none is set."""
    chat_model: ChatModel | None = None
    """Who answers chats; None where nobody is set up to."""
    chat: ChatOptions = field(default_factory=ChatOptions)
    chat_runs: RunTasks = field(default_factory=RunTasks)
    """The runs of chats that this process works on."""
    chat_leases: Leases = field(default_factory=Leases)
    chat_counts: ChatCounts = field(default_factory=ChatCounts)
    tools: Tools | None = None
    """The tools of chats and of the MCP door; None where there is no schema above."""
    places: Places = field(default_factory=Places)
    exports: ExportPlaces = field(default_factory=ExportPlaces)
    count_statement: Callable[[str, str], None] = lambda _outcome, _layer: None
    """Counts a statement by what became of it, and the layer that refused it."""


@dataclass(slots=True)
class Key:
    """The Idempotency-Key of a request, and what became of the writes under it."""

    text: str
    at: Path
    """The place where the request has it."""
    question: bytes = b""
    """The value that stands for the GraphQL operation that it came with, and the values of its variables."""
    is_shared: bool = False
    """Whether the text of that operation has several fields, each of which may write."""
    place: str = ""
    """The name that the answer of its field has, of those. Empty where there is one alone."""
    uses: int = 0
    done: int = 0
    replayed: int = 0
    is_held: bool = False
    """Whether another request that came with it has not ended."""
    before: Callable[[TenantSession], Awaitable[None]] | None = None
    """Raises what stands in the way of the write, in the transaction that takes the key."""
    first: tuple[str, str | None] | None = None
    """The first write under it: what stands for it in the database, and the organization that it was made in."""

    @property
    def is_replayed(self) -> bool:
        """Says whether an earlier request had done all that this one asks for."""
        return 0 < self.replayed == self.uses

    @property
    def is_done(self) -> bool:
        """Says whether the request did all that it asks for itself."""
        return 0 < self.done == self.uses

    def enter(self, name: str) -> None:
        """A field begins whose answer has this name."""
        if self.is_shared:
            self.place = name


Outcomes = dict[str, tuple[object, Exception | None]]
"""The values or exceptions of root fields, by their names in the answer."""


@dataclass(slots=True)
class Context:
    """One request. A session is opened per resolver call, never shared: sibling fields run at the same time."""

    services: Services
    principal: Principal | None
    request_id: str
    estimate: Callable[[str, object, str | None], CostReport] | None = None
    """Tells what an operation would cost (decision 86)."""
    tree: object = None
    """The fields of the operation that runs (schema/execution/tree.py)."""
    outcomes: Outcomes = field(default_factory=dict)
    """The outcomes of fields of the operation that were called before the library runs it."""
    key: Key | None = None
    """The key under which the writes of this request are made once (resolvers/shared/idempotency.py)."""
    via: Mapping[str, str] = field(default_factory=dict)
    """The way that a write came, as the change log's events tell it beside what it was about."""
    instead: Callable[[str, Sequence[object]], None] | None = None
    """Takes the place of a write: it is told the operation and what this was to be called with (decision 501)."""
    look: Callable[[], Awaitable[Principal]] | None = None
    """Finds whom the credential stands for now, for work that outlives the request. Raises what `authenticate` does."""
    at_least: int | None = None
    """The event that a replica has to have for reads of this request; None where they are the primary's."""
    position: int | None = None
    """The number of the newest event that this request has written to the change log."""
    _loaders: dict[Hashable, Loader[Any, Any]] = field(default_factory=dict)  # Any: what is under a key is its own

    _came: dict[tuple[Hashable, str], Sequence[AnyRow]] = field(default_factory=dict)

    @property
    def caller(self) -> Principal:
        """The caller. Raises Unauthenticated."""
        if self.principal is None:
            raise Unauthenticated()
        return self.principal

    @property
    def subject(self) -> str:
        """The caller's subject. Raises Unauthenticated."""
        return self.caller.subject

    @property
    def active_organization(self) -> Organization:
        """The active organization. Raises OrganizationRequired."""
        if self.caller.organization is None:
            raise OrganizationRequired()
        return self.caller.organization

    @property
    def org_id(self) -> str:
        """The key of the active organization's rows. Raises OrganizationRequired."""
        return self.active_organization.id

    @property
    def tools(self) -> Tools:
        """The tools of the process."""
        if self.services.tools is None:
            raise RuntimeError("this process has no tools")
        return self.services.tools

    @property
    def sql(self) -> Runner | None:
        """The login of ad-hoc SQL, which has the directory's server alone (decision 1083)."""
        is_here = len(servers_of(self.services.database, self.org_id)) == 1
        return self.services.sql if is_here else None

    def reads(self, points: int) -> AbstractAsyncContextManager[object]:
        """While reads that ask for so many points are worked on: heavy ones wait for others of the organization."""
        organization = self.principal.organization if self.principal is not None else None
        if organization is None:
            return nullcontext()
        return self.services.lanes.reading(organization.id, points)

    def reading(self) -> AbstractAsyncContextManager[TenantSession]:
        """A read-only transaction of the active organization."""
        if self.at_least is not None:
            return self.services.database.following(self.org_id, self.at_least)
        return self.services.database.reading(self.org_id)

    def writing(self) -> AbstractAsyncContextManager[TenantSession]:
        """A transaction of the active organization, whole or not at all."""
        return self.services.database.writing(self.org_id, self.reached)

    def directory(self) -> AbstractAsyncContextManager[TenantSession]:
        """A transaction on the directory."""
        return self.services.database.directory(writing=True)

    def reached(self, position: int) -> None:
        """Note how far the change log goes after a commit of this request."""
        if self.position is None or position > self.position:
            self.position = position

    def after_commit(self, effect: Callable[[], None]) -> None:
        """Cause an effect, now that what it follows from is committed."""
        effect()

    async def commit(self) -> None:
        """Have what was written so far stand, whatever follows: before something outside is asked, or is refused.

        Here there is nothing to do: each block of `writing` was a transaction of its own.
        """

    def loader(self, key: Hashable, batch: Batch[K, V]) -> Loader[K, V]:
        """The request's loader under this key: what is asked of it in one turn of the loop comes in one statement."""
        found: Loader[K, V] | None = self._loaders.get(key)
        if found is None:
            found = self._loaders[key] = Loader(batch)
        return found

    def bring(self, lists: "Iterable[Came]") -> None:
        """Keep the lists that came along with a record, for the fields below it."""
        for came in lists:
            self._came[came.key, came.parent_id] = came.rows

    def came_along(self, key: Callable[[], Hashable], parent_id: str) -> Sequence[AnyRow] | None:
        """The rows that came along with their parent under this key (`storage/queries/along.py`), if they did."""
        return self._came.get((key(), parent_id)) if self._came else None

    def forget(self) -> None:
        """Drop what was read: after a mutation's commit, so that later fields see its effect, and behind an answer.

        Loaders refer to the context, and it to them: they would stay until the collector comes.
        """
        self._loaders.clear()
        self._came.clear()
