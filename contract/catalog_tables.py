"""The tables and functions of ad-hoc SQL: the part of the catalogue that statements read (contract/catalog.py).

What the guard lets through, what the database login is granted and what callers are shown are derived from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from contract.analytics_results import ResultColumn, label_of
from contract.catalog import ColumnKind
from contract.scopes import ScopeGroup

_CRM, _MEETINGS, _OUTREACH = ScopeGroup.CRM_READ, ScopeGroup.MEETINGS_READ, ScopeGroup.OUTREACH_READ


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table that statements may read: its columns with what they hold, and the scope group that opens it.

    A column of kind DECIMAL is an amount of the currency beside it.
    """

    name: str
    group: ScopeGroup
    columns: Mapping[str, ColumnKind]

    @property
    def shown(self) -> list[ResultColumn]:
        """The columns as answers have them."""
        return [
            ResultColumn(name, label_of(name), kind, *(("money", "currency") if kind is ColumnKind.DECIMAL else ()))
            for name, kind in self.columns.items()
        ]


def _table(name: str, group: ScopeGroup, **columns: str) -> SqlTable:
    return SqlTable(
        name, group, {column: ColumnKind(kind) for kind, named in columns.items() for column in named.split()}
    )


_MADE: Final = "created_at updated_at"
SQL_TABLES: Final[Mapping[str, SqlTable]] = {
    one.name: one
    for one in (
        _table("accounts", _CRM, id="id", text="name domain industry owner_id", datetime=_MADE),
        _table(
            "contacts",
            _CRM,
            id="id account_id",
            text="first_name last_name email title linkedin owner_id",
            datetime=_MADE,
        ),
        _table(
            "deals",
            _CRM,
            id="id account_id stage_id champion_id parent_deal_id",
            text="name currency geo_scope source status owner_id",
            decimal="value",
            date="close_date",
            datetime=f"closed_at {_MADE}",
        ),
        _table("deal_contacts", _CRM, id="deal_id contact_id", text="role", boolean="is_primary", datetime="linked_at"),
        _table(
            "pipeline_stages", _CRM, id="id", text="name type", integer="position probability", datetime="created_at"
        ),
        _table("stage_changes", _CRM, id="id deal_id from_stage_id to_stage_id account_id", text="by", datetime="at"),
        _table(
            "leads",
            _CRM,
            id="id account_id contact_id deal_id",
            text="status name title company company_domain email linkedin source owner_id disqualified_reason",
            datetime=f"converted_at {_MADE}",
        ),
        _table("tags", _CRM, id="id", text="name", datetime="created_at"),
        _table("tag_links", _CRM, id="tag_id record_id", text="kind"),
        _table("competitors", _CRM, id="id", text="name", datetime="created_at"),
        _table(
            "research_runs",
            _CRM,
            id="id",
            text="name status created_by",
            integer="result_count",
            datetime="created_at completed_at",
        ),
        _table("research_results", _CRM, id="id run_id", text="company_name domain status", integer="position score"),
        _table(
            "activities",
            _MEETINGS,
            id="id account_id deal_id contact_id lead_id",
            text="type subject owner_id source direction priority outcome",
            integer="duration_minutes",
            boolean="is_pinned",
            datetime=f"due_at completed_at remind_at occurred_at {_MADE}",
        ),
        _table(
            "health_snapshots",
            _MEETINGS,
            id="id account_id",
            text="trend formula_version",
            integer="score data_points",
            datetime="snapshot_at",
        ),
        _table(
            "health_factors",
            _MEETINGS,
            id="id account_id health_score_id",
            text="key label explanation",
            integer="position score sample_size",
            float="weight value",
            datetime="snapshot_at",
        ),
        _table(
            "campaigns",
            _OUTREACH,
            id="id",
            text="name status status_reason timezone",
            integer="daily_limit",
            boolean="stop_on_reply",
            datetime=_MADE,
        ),
        _table(
            "enrollments",
            _OUTREACH,
            id="id campaign_id contact_id",
            text="email status",
            integer="step",
            datetime="next_at enrolled_at",
        ),
        _table(
            "outreach_domains", _OUTREACH, id="id", text="name status", boolean="spf dkim dmarc", datetime="created_at"
        ),
        _table(
            "mailboxes",
            _OUTREACH,
            id="id domain_id",
            text="email display_name status",
            integer="daily_limit",
            datetime="created_at",
        ),
    )
}
"""The tables, by name."""

_BOTH: Final = (
    "abs avg coalesce count dense_rank lag lead length lower max min nullif rank round row_number substr sum trim upper"
)
SQL_FUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "sqlite": tuple(sorted(f"{_BOTH} date ifnull iif julianday local_date strftime".split())),
    "postgresql": tuple(sorted(f"{_BOTH} date_part date_trunc extract now substring to_char".split())),
}
"""The functions that a statement may call, by dialect."""


def sql_tables_for(scopes: frozenset[str]) -> dict[str, SqlTable]:
    """Returns the tables that these scopes open, by name."""
    return {name: table for name, table in SQL_TABLES.items() if table.group.passes(scopes)}
