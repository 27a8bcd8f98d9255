"""Names the tables of which the change log tells every change: what is read of them may come from a replica.

A replica that has an organization's log up to a number has every change of these tables up to it. Where a change
brings no event, a replica could be behind and nobody would know, so such a table stays with the primary.
`tests/isolation/test_logged.py` decides: it makes every mutation and looks for the events (decision 997). What is only
forgotten after its time brings none: a replica shows it for a moment longer.
"""

from typing import Final

LOGGED: Final = frozenset(
    {"accounts", "activities", "competitors", "contacts", "deal_contacts", "deals", "event_counters", "events"}
    | {"health_factors", "health_snapshots", "merged_ids", "pipeline_stages", "record_changes", "sales_targets"}
    | {"search_entries", "stage_changes", "tag_links", "tags"}
    | {"deal_cells", "deal_cell_deltas", "meeting_cells", "meeting_cell_deltas"}
)
