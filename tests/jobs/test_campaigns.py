"""The provider is told what campaigns are and asked how they stand, never inside a transaction (decisions 50 to 53)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select
from sqlmodel import col

from contract.errors import InvalidState, NotFound, ProviderFailed
from contract.outreach_vocabulary import CampaignStatus, EnrollmentStatus
from providers.local_sequencing import LocalSequencing
from providers.sequencing import Garbage, Gone, Move, Progress, Refused, State, Unreachable
from resolvers.campaigns import (
    delete_campaign,
    launch_campaign,
    pause_campaign,
    resume_campaign,
    update_campaign,
)
from resolvers.enrollments import enroll_contacts, remove_enrollment
from resolvers.outreach_inputs import CampaignUpdate, Enrollments
from resolvers.shared.context import Context
from resolvers.shared.inputs import parse
from storage.base import now
from storage.database import Database
from storage.tables import (
    Campaign,
    CampaignMailbox,
    Enrollment,
    Event,
    Job,
    Mailbox,
    OutreachDomain,
    OutreachMessage,
    RecordChange,
)
from tests.support.sequencing import Stub, open_transactions, services_with, work_off
from tests.support.statements import statements
from tests.support.world import World, open_world

DOWN = Unreachable("Stub cannot be reached")


@pytest.fixture
def stub(database: Database) -> Stub:
    return Stub(database)


@pytest.fixture
async def world(database: Database, stub: Stub) -> AsyncIterator[World]:
    async with open_world(database, services_with(database, stub)) as world:
        yield world


@pytest.fixture
async def ctx(world: World) -> Context:
    return await world.context("admin@one", world.one)


async def campaign(world: World, *, recipients: int = 2, **values: Any) -> Campaign:
    """A campaign that could be launched."""
    domain = OutreachDomain(name="s.example", status="active")
    mailbox = Mailbox(domain_id=domain.id, email="a@s.example", status="active")
    steps = [{"delay_days": 0, "subject": "S", "body": "B"}, {"delay_days": 2, "subject": "T", "body": "C"}]
    made = Campaign(**({"name": "C", "provider": "stub", "steps": steps} | values))
    link = CampaignMailbox(campaign_id=made.id, mailbox_id=mailbox.id)
    people = [
        Enrollment(campaign_id=made.id, email=f"{n}@example.com", email_key=f"{n}@example.com", next_at=now())
        for n in range(recipients)
    ]
    await world.add(world.one, domain, mailbox, made, link, *people)
    return made


async def read(world: World, *columns: Any) -> list[Any]:
    model = columns[0].class_
    async with world.database.reading(world.one.id) as session:
        return list(await session.rows(select(*columns).where(model.org_id == world.one.id)))


async def state(world: World) -> tuple[str, str, str | None, str | None]:
    [row] = await read(
        world, Campaign.status, Campaign.provider_sync, Campaign.provider_campaign_id, Campaign.status_reason
    )
    return row.status, row.provider_sync, row.provider_campaign_id, row.status_reason


async def events(world: World) -> list[str]:
    return [row.type for row in sorted(await read(world, Event.type, Event.sequence), key=lambda r: r.sequence)]


def enrolling(*names: str) -> Enrollments:
    return parse(Enrollments, {"contacts": [{"email": f"{name}@example.com"} for name in names]})


async def test_the_count_of_open_transactions_can_tell(world: World) -> None:
    assert open_transactions(world.database) == 0
    async with world.database.writing(world.one.id) as session:
        assert open_transactions(world.database) == 0
        await session.find(Campaign)  # which begins the transaction
        assert open_transactions(world.database) == 1
    assert open_transactions(world.database) == 0


async def test_a_launch_is_told(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    launched = await launch_campaign(ctx, made.id)
    assert (launched.status, launched.provider_sync, launched.provider_campaign_id) == ("active", "pending", None)
    assert stub.calls == []
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]
    identifier = f"{made.id}/1"
    assert stub.calls == [
        ("create", made.id),
        ("update", identifier, "C"),
        ("add_leads", identifier, 2),
        ("activate", identifier),
    ]
    assert await state(world) == ("active", "synced", identifier, None)
    assert all(row.told_at for row in await read(world, Enrollment.told_at))
    [row] = await read(world, Campaign.provider_synced_at, Campaign.version)
    assert row.provider_synced_at is not None
    assert row.version == 2  # what the provider is told is no change of the record
    assert await events(world) == ["campaign_launched"]


async def test_a_pause_counts_at_once_and_is_told_until_the_provider_hears(
    world: World, ctx: Context, stub: Stub
) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    stub.fail["pause"] = [DOWN, Garbage("Stub talks nonsense"), None]
    paused = await pause_campaign(ctx, made.id)
    assert (paused.status, paused.provider_sync) == ("paused", "pending")
    outcomes = []
    for _ in range(3):
        outcomes += [done for done in await work_off(world.database, stub, rounds=2) if done[0] == "campaign_tell"]
    assert outcomes == [("campaign_tell", "retried"), ("campaign_tell", "retried"), ("campaign_tell", "succeeded")]
    assert await state(world) == ("paused", "synced", f"{made.id}/1", None)
    assert stub.sequences == {f"{made.id}/1": "paused"}


async def test_a_provider_that_stays_away_is_seen(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    stub.fail["pause"] = [DOWN]
    await pause_campaign(ctx, made.id)
    for _ in range(12):
        assert (await state(world))[:2] == ("paused", "pending")
        await work_off(world.database, stub, rounds=2)
    assert (await state(world))[:2] == ("paused", "failed")
    [job] = [j for j in await read(world, Job.kind, Job.status, Job.error, Job.attempts) if j.status == "failed"]
    assert (job.kind, job.error, job.attempts) == ("campaign_tell", "Stub cannot be reached", 12)
    # What is told next is told from anew.
    stub.fail.clear()
    await resume_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    assert (await state(world))[:2] == ("active", "synced")


async def test_a_refusal_blocks_a_running_campaign(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    stub.fail["create"] = [Refused("Stub asks for a paid plan")]
    await launch_campaign(ctx, made.id)
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "failed")]
    assert await state(world) == ("blocked", "failed", None, "Stub asks for a paid plan")
    assert await events(world) == ["campaign_launched", "campaign_blocked"]
    told = await read(world, RecordChange.type, RecordChange.fields)
    assert {row.type: row.fields for row in told}["campaign_blocked"] == {
        "status": ["active", "blocked"],
        "status_reason": [None, "Stub asks for a paid plan"],
    }
    stub.reason = "Stub asks for a paid plan"
    with pytest.raises(InvalidState, match="still blocks the campaign: Stub asks for a paid plan"):
        await resume_campaign(ctx, made.id)
    stub.fail["blocked"] = [DOWN]
    with pytest.raises(ProviderFailed, match="Stub cannot be reached"):
        await resume_campaign(ctx, made.id)
    assert (await state(world))[0] == "blocked"
    stub.fail.clear()
    stub.reason = None
    await resume_campaign(ctx, made.id)
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]
    assert await state(world) == ("active", "synced", f"{made.id}/1", None)


async def test_whoever_told_something_old_tells_anew(world: World, ctx: Context, stub: Stub) -> None:
    """A pause that comes while the launch is being told is the last word that the provider hears."""
    made = await campaign(world)
    await launch_campaign(ctx, made.id)

    async def meanwhile() -> None:
        await pause_campaign(ctx, made.id)

    stub.during["activate"] = meanwhile
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]
    assert stub.methods[-2:] == ["activate", "pause"]
    assert (await state(world))[:2] == ("paused", "synced")
    calls = len(stub.calls)
    assert await work_off(world.database, stub) == [("campaign_tell", "succeeded")]
    assert len(stub.calls) == calls  # the pause's own job finds it told


async def test_a_late_run_does_not_have_the_last_word(world: World, ctx: Context, stub: Stub) -> None:
    """The pause's own run comes and goes while the launch's run is held up in its call."""
    made = await campaign(world)
    await launch_campaign(ctx, made.id)

    async def meanwhile() -> None:
        await pause_campaign(ctx, made.id)
        assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]
        assert stub.sequences == {f"{made.id}/1": "paused"}

    stub.during["activate"] = meanwhile
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]
    assert stub.sequences == {f"{made.id}/1": "paused"}
    assert (await state(world))[:2] == ("paused", "synced")


async def test_an_attempt_that_was_cut_off_after_creating_finds_what_it_made(
    world: World, ctx: Context, stub: Stub
) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    stub.sequences[f"{made.id}/9"] = "draft"
    stub.fail["create"] = [DOWN]
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "retried")]
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]
    assert stub.methods == ["create", "find", "update", "add_leads", "activate"]
    assert (await state(world))[2] == f"{made.id}/9"


async def test_a_sequence_that_is_gone_is_made_anew_with_everyone(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    stub.sequences.clear()
    await update_campaign(ctx, made.id, parse(CampaignUpdate, {"name": "D"}))
    outcomes = await work_off(world.database, stub, rounds=4)
    outcomes += await work_off(world.database, stub, rounds=1)
    assert ("campaign_tell", "retried") in outcomes
    assert stub.sequences == {f"{made.id}/2": "running"}
    assert stub.leads[f"{made.id}/2"] == ["0@example.com", "1@example.com"]
    assert (await state(world))[:3] == ("active", "synced", f"{made.id}/2")


async def test_pausing_what_is_gone_is_fine(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    stub.sequences.clear()
    await pause_campaign(ctx, made.id)
    assert ("campaign_tell", "succeeded") in await work_off(world.database, stub, rounds=2)
    assert await state(world) == ("paused", "synced", None, None)


async def test_enrolling_in_a_running_campaign_is_told(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    await enroll_contacts(ctx, made.id, enrolling("new", "0"))
    assert (await state(world))[1] == "pending"
    await work_off(world.database, stub, rounds=3)
    assert stub.leads[f"{made.id}/1"] == ["0@example.com", "1@example.com", "new@example.com"]
    assert (await state(world))[1] == "synced"


async def test_many_recipients_go_in_several_calls(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world, recipients=230)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    assert [call[2] for call in stub.calls if call[0] == "add_leads"] == [100, 100, 30]


async def test_removing_a_recipient_is_told(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    [first, _] = await read(world, Enrollment.id, Enrollment.email)
    stub.fail["remove_lead"] = [DOWN, None]
    await remove_enrollment(ctx, first.id)
    assert len(await read(world, Enrollment.id)) == 1
    await work_off(world.database, stub, rounds=3)
    await work_off(world.database, stub, rounds=3)
    told = [call for call in stub.calls if call[0] == "remove_lead"]
    assert told == [("remove_lead", f"{made.id}/1", first.email)] * 2


async def test_a_recipient_who_is_removed_while_the_provider_is_told_of_them_is_taken_off(
    world: World, ctx: Context, stub: Stub
) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    [gone, stays] = await read(world, Enrollment.id, Enrollment.email)

    async def elsewhere() -> None:
        await remove_enrollment(ctx, gone.id)
        assert await work_off(world.database, stub, rounds=1) == [("lead_remove", "succeeded")]

    stub.during["add_leads"] = elsewhere
    await work_off(world.database, stub, rounds=4)
    assert stub.leads == {f"{made.id}/1": [stays.email]}


async def test_many_who_are_removed_meanwhile_are_one_statement(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world, recipients=20)
    await launch_campaign(ctx, made.id)

    async def elsewhere() -> None:
        async with world.database.writing(world.one.id) as session:
            await session.execute(
                delete(Enrollment).where(
                    col(Enrollment.org_id) == world.one.id, col(Enrollment.email) != "0@example.com"
                )
            )

    stub.during["add_leads"] = elsewhere
    with statements(world.database) as sent:
        assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]
    assert sum("INSERT INTO jobs" in statement for statement in sent) == 2  # and what is asked of the provider later
    assert (await work_off(world.database, stub, rounds=20)).count(("lead_remove", "succeeded")) == 19
    assert stub.leads == {f"{made.id}/1": ["0@example.com"]}


async def test_deletion_goes_in_the_documented_order(world: World, ctx: Context, stub: Stub) -> None:
    """Specification 4.7: stopped, the sequence at the provider, then the record, and its enrollments along with it."""
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    seen: list[Any] = []

    async def meanwhile() -> None:
        seen.append(await state(world))

    stub.during["delete"] = meanwhile
    done = await delete_campaign(ctx, made.id)
    assert [(s[0], s[1]) for s in seen] == [("paused", "pending")]
    assert (done.deleted_id, done.deleted_enrollment_count, done.provider_outcome) == (made.id, 2, "removed")
    assert stub.sequences == {}
    for table in (Campaign, Enrollment, CampaignMailbox):
        assert await read(world, table.org_id) == []
    assert await events(world) == ["campaign_launched", "campaign_paused", "campaign_deleted"]
    await work_off(world.database, stub)
    assert stub.methods[-1] == "delete"  # nothing is told of a campaign that has gone
    with pytest.raises(NotFound):
        await delete_campaign(ctx, made.id)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Gone("Stub does not know it"), "already_gone"),
        (DOWN, "cleanup_queued"),
        (Garbage("Stub talks nonsense"), "cleanup_queued"),
        (Refused("Stub will not"), "cleanup_queued"),
    ],
)
async def test_a_provider_that_fails_blocks_no_deletion(
    world: World, ctx: Context, stub: Stub, error: Exception, outcome: str
) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    stub.fail["delete"] = [error]
    done = await delete_campaign(ctx, made.id)
    assert (done.provider_outcome, done.deleted_enrollment_count) == (outcome, 2)
    assert await read(world, Campaign.id) == await read(world, Enrollment.id) == []
    stub.fail.clear()
    outcomes = await work_off(world.database, stub)
    assert (("sequence_remove", "succeeded") in outcomes) == (outcome == "cleanup_queued")
    assert (stub.sequences == {}) == (outcome == "cleanup_queued")


async def test_a_clean_up_is_tried_until_it_is_done(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    stub.fail["delete"] = [DOWN, DOWN, Gone("Stub does not know it")]
    await delete_campaign(ctx, made.id)
    outcomes = []
    for _ in range(2):
        outcomes += await work_off(world.database, stub)
    assert [o for o in outcomes if o[0] == "sequence_remove"] == [
        ("sequence_remove", "retried"),
        ("sequence_remove", "succeeded"),
    ]


async def test_a_sequence_that_is_made_while_its_campaign_goes_is_removed(
    world: World, ctx: Context, stub: Stub
) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)

    async def meanwhile() -> None:
        assert (await delete_campaign(ctx, made.id)).provider_outcome == "not_created"

    stub.during["create"] = meanwhile
    await work_off(world.database, stub)
    assert stub.sequences == {}
    assert stub.methods[-1] == "delete"


async def test_two_runs_that_create_leave_one_sequence(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await enroll_contacts(ctx, made.id, enrolling("x"))

    async def meanwhile() -> None:
        assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "succeeded")]

    stub.during["create"] = meanwhile
    await work_off(world.database, stub, rounds=1)
    await work_off(world.database, stub, rounds=4)
    assert stub.sequences == {f"{made.id}/1": "running"}
    assert (await state(world))[2] == f"{made.id}/1"


async def test_a_campaign_of_another_provider_is_left_alone(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world, provider="elsewhere", provider_campaign_id="e1", status="paused")
    await resume_campaign(ctx, made.id)
    assert await work_off(world.database, stub, rounds=1) == [("campaign_tell", "failed")]
    assert await state(world) == ("blocked", "failed", "e1", "The campaign belongs to another provider: elsewhere")
    assert (await delete_campaign(ctx, made.id)).provider_outcome == "cleanup_queued"
    assert stub.calls == []


async def test_what_the_provider_says_is_written_down(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world, recipients=3)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    moves = [
        Move("0@EXAMPLE.com", EnrollmentStatus.REPLIED),
        Move("1@example.com", EnrollmentStatus.BOUNCED),
        Move("stranger@example.com", EnrollmentStatus.BOUNCED),
    ]
    stub.answer = Progress(State.RUNNING, moves, now() + timedelta(hours=1))
    assert await work_off(world.database, stub, rounds=1) == [("campaign_ask", "succeeded")]
    rows = {row.email: row.status for row in await read(world, Enrollment.email, Enrollment.status)}
    assert rows == {"0@example.com": "replied", "1@example.com": "bounced", "2@example.com": "pending"}
    stub.answer = Progress(State.COMPLETED, [Move("2@example.com", EnrollmentStatus.COMPLETED)], now())
    assert await work_off(world.database, stub, rounds=1) == [("campaign_ask", "succeeded")]
    assert (await state(world))[0] == "completed"
    assert await events(world) == ["campaign_launched", "campaign_completed"]
    told = await read(world, RecordChange.type, RecordChange.actor, RecordChange.fields)
    assert sorted((row.type, row.actor, row.fields["status"]) for row in told) == [
        ("campaign_completed", "system", ["active", "completed"]),
        ("campaign_launched", ctx.caller.subject, ["draft", "active"]),
    ]
    assert await work_off(world.database, stub) == []


async def test_a_block_that_the_provider_tells_of(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    stub.answer = Progress(State.BLOCKED, [], now(), "Stub has suspended the account")
    await work_off(world.database, stub, rounds=1)
    assert await state(world) == ("blocked", "synced", f"{made.id}/1", "Stub has suspended the account")
    assert await work_off(world.database, stub) == []
    assert (await pause_campaign(ctx, made.id)).status_reason is None


async def test_who_asks_for_an_older_revision_stops(world: World, ctx: Context, stub: Stub) -> None:
    made = await campaign(world)
    await launch_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=1)
    await pause_campaign(ctx, made.id)
    await resume_campaign(ctx, made.id)
    await work_off(world.database, stub, rounds=6)
    assert stub.methods.count("progress") == 1
    waiting = [j for j in await read(world, Job.kind, Job.status) if j.status == "queued"]
    assert [(j.kind, j.status) for j in waiting] == [("campaign_ask", "queued")]


async def test_the_embedded_provider_moves_recipients_on_a_clock(world: World) -> None:
    local = LocalSequencing()
    context = Context(
        services_with(world.database, local), (await world.context("admin@one", world.one)).principal, "r"
    )
    made = await campaign(world, provider="local", daily_limit=3, recipients=4)
    await launch_campaign(context, made.id)
    assert await work_off(world.database, local, rounds=2) == [
        ("campaign_tell", "succeeded"),
        ("campaign_ask", "succeeded"),
    ]
    people = await read(world, Enrollment.status, Enrollment.step, Enrollment.next_at)
    assert sorted((p.status, p.step) for p in people) == [("active", 1)] * 3 + [("pending", 0)]
    assert all(timedelta(days=1.9) < p.next_at - now() < timedelta(days=2) for p in people if p.step)
    messages = await read(world, OutreachMessage.step, OutreachMessage.sender, OutreachMessage.subject)
    assert [(m.step, m.sender, m.subject) for m in messages] == [(0, "a@s.example", "S")] * 3
    await _later(world, timedelta(days=3))
    await work_off(world.database, local, rounds=1)
    assert len(await read(world, OutreachMessage.id)) == 6
    await _later(world, timedelta(days=3))
    await work_off(world.database, local, rounds=1)
    await _later(world, timedelta(days=3))
    await work_off(world.database, local, rounds=1)
    await _later(world, timedelta(days=3))
    await work_off(world.database, local, rounds=1)
    assert [(p.status, p.step) for p in await read(world, Enrollment.status, Enrollment.step)] == [("completed", 2)] * 4
    assert len(await read(world, OutreachMessage.id)) == 8
    assert (await state(world))[0] == CampaignStatus.COMPLETED
    # Nothing was sent, and nothing is sent again.
    assert await work_off(world.database, local) == []


async def _later(world: World, by: timedelta) -> None:
    """Let time pass, as far as the rows can tell."""
    async with world.database.writing(world.one.id) as session:
        for row in await session.rows(
            select(Enrollment.id, Enrollment.next_at).where(Enrollment.org_id == world.one.id)
        ):
            enrollment = await session.find(Enrollment, Enrollment.id == row.id, lock=True)
            if enrollment is not None and enrollment.next_at is not None:
                await session.update(enrollment, next_at=enrollment.next_at - by)
        for row in await session.rows(select(OutreachMessage.id).where(OutreachMessage.org_id == world.one.id)):
            message = await session.find(OutreachMessage, OutreachMessage.id == row.id, lock=True)
            if message is not None:
                await session.update(message, noted_at=message.noted_at - by)


async def test_a_paused_campaign_moves_nobody(world: World) -> None:
    local = LocalSequencing()
    context = Context(
        services_with(world.database, local), (await world.context("admin@one", world.one)).principal, "r"
    )
    made = await campaign(world, provider="local")
    await launch_campaign(context, made.id)
    await work_off(world.database, local, rounds=1)
    await pause_campaign(context, made.id)
    await work_off(world.database, local)
    assert await read(world, OutreachMessage.id) == []
    assert (await state(world))[:2] == ("paused", "synced")
