"""Transfers of ownership: what one owner has becomes another's, by a job."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool, StrictStr

from contract.errors import Problem, Problems
from contract.scopes import ScopeGroup
from contract.vocabulary import OwnedKind
from jobs.ownership import enqueue_transfer
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Line
from resolvers.shared.sentences import INACTIVE
from storage.queries import members, ownership
from storage.queries.ownership import OwnedCounts
from storage.tables import Job, Person


class OwnershipTransfer(Input):
    """Records of one owner that become another's; of all kinds unless told."""

    model_config = ConfigDict(populate_by_name=True)

    source: Annotated[Line, Field(alias="from")]
    target: Annotated[StrictStr, Field(alias="to")]
    kinds: Annotated[list[OwnedKind], Field(min_length=1)] | None = None
    open_only: StrictBool = False
    dry_run: StrictBool = False


@dataclass(frozen=True, slots=True)
class Transfer:
    """Says how many records are moved, and the job that moves them; without one they were only counted."""

    counts: OwnedCounts
    job: Job | None


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def transfer_ownership(ctx: Context, input: OwnershipTransfer) -> Transfer:
    """Give records of one owner to another by a job, or only count them. Raises Problems."""
    kinds = list(OwnedKind) if input.kinds is None else input.kinds
    async with ctx.writing() as session:
        counted = (await ownership.owned(session, [input.source]))[input.source]
        problems = []
        if not counted.total and await session.find(Person, id=input.source) is None:
            problems.append(Problem(("input", "from"), "is nobody that this organization knows", "reference"))
        if input.source == input.target:
            problems.append(Problem(("input", "to"), "must be another owner", "reference"))
        elif not await members.is_active(session, input.target):
            problems.append(Problem(("input", "to"), INACTIVE, "reference"))
        if problems:
            raise Problems(problems)
        counts = counted.of(kinds, open_only=input.open_only)
        if input.dry_run:
            return Transfer(counts, None)
        job = await enqueue_transfer(
            session,
            input.source,
            input.target,
            kinds=kinds,
            open_only=input.open_only,
            total=counts.total,
            actor=ctx.caller.subject,
        )
    return Transfer(counts, job)
