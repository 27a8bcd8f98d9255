"""Jobs on the GraphQL surface."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated

import strawberry

from contract.vocabulary import JobStatus
from resolvers import jobs
from schema.connections import Node
from schema.declare import Info, argument, enum, operation, shown, subscription

enum(
    JobStatus,
    "What has become of a piece of work that runs later.",
    QUEUED="It waits for its first attempt, or for another.",
    RUNNING="An attempt is under way.",
    SUCCEEDED="It is done.",
    FAILED="It was given up; `error` says why.",
    SUPERSEDED="It was taken back before it ran, since something newer takes its place.",
)


@strawberry.type(description="A piece of work that runs later: it survives a restart of the service.")
class Job(Node):
    kind: str = shown("What is to be done.")
    status: JobStatus = shown("What has become of it.")
    attempts: int = shown("How many attempts were begun.")
    error: str | None = shown("What went wrong in the last attempt that failed, in words for people.")
    progress: float = shown("How much is done, from 0 to 1.")
    created_at: datetime = shown("When it was asked for.")
    started_at: datetime | None = shown("When its first attempt began.")
    finished_at: datetime | None = shown("When it succeeded, failed or was superseded.")


@strawberry.type
class JobQueries:
    @operation(jobs.get_job, "A job.")
    async def job(self, info: Info, id: Annotated[strawberry.ID, argument("The job's identifier.")]) -> Job | None:
        return await jobs.get_job(info.context, id)


@strawberry.type
class JobSubscriptions:
    @subscription(jobs.watch_job, "A job as it is, and again whenever it has changed, until it has ended.")
    async def job_updated(
        self, info: Info, id: Annotated[strawberry.ID, argument("The job's identifier.")]
    ) -> AsyncGenerator[Job, None]:
        return await jobs.watch_job(info.context, id)
