"""Sales targets on the GraphQL surface."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.criteria import All
from contract.vocabulary import TargetMetric, TargetPeriod
from resolvers import sales_targets
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.deals import MoneyTotal
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import DateFilter, comparisons
from schema.inputs import DeletePayload, change, deletion, given
from schema.members import Member, owner_link
from schema.records import record
from storage import tables as t
from storage.rows import SalesTargetRow

enum(
    TargetMetric,
    "What a sales target measures.",
    WON_VALUE="The value of deals that were won, in one currency.",
    WON_DEALS="How many deals were won.",
)
enum(
    TargetPeriod,
    "The kind of days that a sales target is for.",
    MONTH="A calendar month.",
    QUARTER="Three calendar months from January, April, July or October.",
    YEAR="A calendar year.",
    CUSTOM="Any days, at most 366.",
)


@strawberry.type(description="How far a target is reached.")
class TargetAttainment:
    actual: Decimal = field("The sum of the won deals in the target's currency, or their number.")
    deals: int = field("How many won deals that is.")
    ratio: Decimal = field("actual divided by the target's amount, to four decimals; over 1 when it is surpassed.")
    remaining: Decimal = field("What is missing; zero when it is reached.")
    other_currencies: list[MoneyTotal] = field(
        "Won deals in the period in other currencies: told, never added or converted."
    )
    without_value: int = field("Won deals in the period that have no value.")
    open_pipeline: Decimal = field("Open deals whose closeDate lies in the period, in the target's currency.")


@record(
    t.SalesTarget,
    "What the organization, or a member of it, is to reach in a period.",
    hidden=("owner_key", "currency_key", "begins_at", "ends_before"),
)
class SalesTarget(Node):
    owner: Member | None = owner_link()

    @guarded_field(sales_targets.attainment_of, "What has been reached, computed from the deals now.")
    async def attainment(root: strawberry.Parent[SalesTargetRow], info: Info) -> TargetAttainment:
        return await sales_targets.attainment_of(info.context, root.id, selected(info).columns)


@strawberry.input(description="Which targets.")
class SalesTargetFilter:
    owner_ids: list[strawberry.ID] | None = field("Of one of these members.", default=UNSET)
    organization_wide: bool | None = field(
        "Whether only targets of the whole organization, or only those of members.", default=UNSET
    )
    metric: TargetMetric | None = field("Of this metric.", default=UNSET)
    currency: str | None = field("In this currency.", default=UNSET)
    on: date | None = field("Targets whose period contains this day.", default=UNSET)
    starts_on: DateFilter | None = field("On the first day.", default=UNSET)
    ends_on: DateFilter | None = field("On the last day.", default=UNSET)


@strawberry.input(description="A target; what has the same member, metric, currency and days already is changed.")
class SalesTargetInput:
    owner_id: str | None = field("An active member; the whole organization unless told.", default=UNSET)
    metric: TargetMetric = field("What is measured.")
    currency: str | None = field("An ISO 4217 code; needed for WON_VALUE, refused for WON_DEALS.", default=UNSET)
    period: TargetPeriod = field("Which kind of period.")
    starts_on: date = field("A month, quarter or year begins on its first day.")
    ends_on: date | None = field("Only for CUSTOM, at most 366 days.", default=UNSET)
    time_zone: str = field("An IANA time zone.", default="UTC")
    amount: Decimal = field("What is to be reached, above zero; whole for WON_DEALS.")


@strawberry.type(description="What came of setting targets; nothing is set where there is a problem.")
class SalesTargetsPayload:
    targets: list[SalesTarget] = field("In the order of the inputs.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


TargetId = Annotated[strawberry.ID, argument("The target's identifier.")]
_DAYS = ("starts_on", "ends_on")


@strawberry.type
class SalesTargetQueries:
    @operation_field(sales_targets.get_target, "A target by its id.")
    async def sales_target(self, info: Info, id: TargetId) -> SalesTarget | None:
        return await sales_targets.get_target(info.context, id, selected(info))

    @operation_field(sales_targets.list_targets, "By first day, latest first; the organization's before members'.")
    async def sales_targets(
        self,
        info: Info,
        filter: Annotated[SalesTargetFilter | None, argument("Which targets.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[SalesTarget]:
        named = {n: v for n, v in (vars(filter) if filter else {}).items() if v is not UNSET and v is not None}
        asked: dict[str, Any] = {n: given(v) for n, v in named.items() if n not in _DAYS}  # Any: each of its own type
        days = [c for n in _DAYS if n in named for c in comparisons(n, named[n], ("filter", n))]
        condition = All((sales_targets.wanted(**asked), *days))
        question = listing(condition, first=first, after=after, last=last, before=before, offset=offset)
        return await sales_targets.list_targets(info.context, question, selected_nodes(info))


@strawberry.type
class SalesTargetMutations:
    @operation_field(sales_targets.put_targets, "At most 200 at a time, 5,000 of an organization.")
    async def sales_targets_put(
        self, info: Info, inputs: Annotated[list[SalesTargetInput], argument("The targets, all or none.")]
    ) -> SalesTargetsPayload:
        put, problems = await change(
            info,
            sales_targets.put_targets,
            model=sales_targets.SalesTargets,
            input={"inputs": [given(each) for each in inputs]},
            at=(),
        )
        return SalesTargetsPayload(targets=put or [], user_errors=problems)

    @operation_field(sales_targets.delete_target, "Deletes a target.")
    async def sales_target_delete(self, info: Info, id: TargetId) -> DeletePayload:
        return await deletion(info, sales_targets.delete_target, id)


QUERIES, MUTATIONS = SalesTargetQueries, SalesTargetMutations
