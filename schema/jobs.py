"""Jobs on the GraphQL surface."""

from collections.abc import AsyncGenerator
from typing import Annotated

import strawberry

from contract.vocabulary import JobStatus
from resolvers import jobs
from schema.connections import Node
from schema.declare import Info, argument, enum, operation_field, subscription
from schema.records import record
from storage import tables as t

enum(
    JobStatus,
    "What has become of a piece of work that runs later.",
    QUEUED="It waits for its first attempt, or for another.",
    RUNNING="An attempt is under way.",
    SUCCEEDED="It is done.",
    FAILED="It was given up; `error` says why.",
    SUPERSEDED="It was taken back before it ran, since something newer takes its place.",
)


@record(
    t.Job,
    "A piece of work that runs later: it survives a restart of the service.",
    hidden=("key", "arguments", "repeat_seconds"),
)
class Job(Node):
    """A job; what it was told to do is nobody's business but the worker's."""


@strawberry.type
class JobQueries:
    @operation_field(jobs.get_job, "A job.")
    async def job(self, info: Info, id: Annotated[strawberry.ID, argument("The job's identifier.")]) -> Job | None:
        return await jobs.get_job(info.context, id)


@strawberry.type
class JobSubscriptions:
    @subscription(jobs.watch_job, "A job as it is, and again whenever it has changed, until it has ended.")
    async def job_updated(
        self, info: Info, id: Annotated[strawberry.ID, argument("The job's identifier.")]
    ) -> AsyncGenerator[Job, None]:
        return await jobs.watch_job(info.context, id)


QUERIES = JobQueries
