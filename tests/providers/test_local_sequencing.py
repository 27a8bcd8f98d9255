"""The embedded provider: what it would send, to whom, from where and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.outreach_vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus
from providers.local_sequencing import LocalSequencing, filled, midnight
from providers.sequencing import Lead, Message, Move, Outline, Progress, Recipient, Running, State, Step

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def outline(**changes: Any) -> Outline:
    values: dict[str, Any] = {
        "key": "k",
        "name": "n",
        "steps": [Step(0, "Hi {{first_name}}", "From {{ sender }}."), Step(3, "Again", "B")],
        "mailboxes": ["a@s.example", "b@s.example"],
        "daily_limit": 10,
        "timezone": "UTC",
        "stop_on_reply": True,
    }
    return Outline(**(values | changes))


def recipient(name: str, step: int = 0, at: datetime = NOON) -> Recipient:
    lead = Lead(f"{name}@example.com", {"first_name": name.upper(), "sender": None})
    return Recipient(name, lead, EnrollmentStatus.PENDING, step, at)


async def progress(*due: Recipient, sent_today: int = 0, next_at: datetime | None = None, **changes: Any) -> Progress:
    provider = LocalSequencing(clock=lambda: NOON)
    return await provider.progress(Running("local-k", outline(**changes), due, sent_today, next_at))


async def test_who_is_due_gets_the_next_message() -> None:
    found = await progress(recipient("x"), recipient("y", step=1))
    assert found == Progress(
        State.RUNNING,
        [
            Move(
                "x@example.com",
                EnrollmentStatus.ACTIVE,
                "x",
                1,
                NOON + 3 * DAY,
                Message(0, "a@s.example", "x@example.com", "Hi X", "From ."),
            ),
            Move(
                "y@example.com",
                EnrollmentStatus.ACTIVE,
                "y",
                2,
                NOON + DAY,  # the window for a reply
                Message(1, "b@s.example", "y@example.com", "Again", "B"),
            ),
        ],
        NOON + timedelta(hours=1),
    )


async def test_after_the_window_for_a_reply_a_recipient_is_done() -> None:
    found = await progress(recipient("x", step=2))
    assert found.moves == [Move("x@example.com", EnrollmentStatus.COMPLETED, "x", 2)]
    assert found.state is State.COMPLETED


async def test_while_others_wait_it_runs() -> None:
    soon = NOON + timedelta(minutes=5)
    found = await progress(recipient("x", step=2), next_at=soon)
    assert (found.state, found.again) == (State.RUNNING, soon)


async def test_the_limit_of_the_day_holds_the_rest_back_until_midnight() -> None:
    found = await progress(recipient("x"), recipient("y"), recipient("z", step=2), sent_today=9, timezone="Asia/Tokyo")
    assert [(move.id, move.message is not None) for move in found.moves] == [("x", True), ("z", False)]
    assert found.state is State.RUNNING
    assert found.again == NOON + timedelta(hours=1)  # and not before long, whatever it waits for
    assert (await progress(recipient("x"), sent_today=10)).moves == []


async def test_without_a_mailbox_nothing_is_sent() -> None:
    found = await progress(recipient("x"), mailboxes=[])
    assert (found.moves, found.state) == ([], State.RUNNING)


async def test_nobody_is_due_before_their_time() -> None:
    assert (await progress(recipient("x", at=NOON + timedelta(seconds=1)))).moves == []


async def test_the_senders_take_turns() -> None:
    found = await progress(*(recipient(name) for name in "vwxyz"), sent_today=1)
    assert [move.message and move.message.sender[0] for move in found.moves] == ["b", "a", "b", "a", "b"]


async def test_the_rest_of_the_port_is_there_and_does_nothing() -> None:
    provider = LocalSequencing()
    assert provider.name == "local"
    assert await provider.create(outline()) == await provider.find("k") == "local-k"
    await provider.update("local-k", outline())
    await provider.activate("local-k")
    await provider.pause("local-k")
    await provider.add_leads("local-k", [Lead("a@example.com")])
    await provider.remove_lead("local-k", "a@example.com")
    await provider.delete("local-k")
    assert await provider.blocked("local-k") is None
    domain = await provider.purchase_domain("a.example")
    assert (domain.status, domain.spf, domain.dkim, domain.dmarc) == (DomainStatus.ACTIVE, True, True, True)
    assert await provider.provision_mailbox("x@a.example", None) is MailboxStatus.ACTIVE
    await provider.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{a}} {{ a }} {{b}} {{n}} {{email}}", "A A  7 x@example.com"),
        ("{{a} {a}} {{ }} {{1}} {{a.b}}", "{{a} {a}} {{ }} {{1}} {{a.b}}"),
        ("{{inner}}", "{{a}}"),
        ("plain", "plain"),
    ],
)
def test_placeholders(text: str, expected: str) -> None:
    assert filled(text, Lead("x@example.com", {"a": "A", "n": 7, "inner": "{{a}}"})) == expected


def test_midnight_is_that_of_the_time_zone() -> None:
    assert midnight(NOON, "UTC") == datetime(2026, 5, 1, tzinfo=UTC)
    assert midnight(NOON, "Asia/Tokyo") == datetime(2026, 4, 30, 15, tzinfo=UTC)
    assert midnight(NOON, "America/New_York", days=1) == datetime(2026, 5, 2, 4, tzinfo=UTC)
    # The night on which the clocks change has its own length.
    assert midnight(datetime(2026, 3, 29, 12, tzinfo=UTC), "Europe/Paris") == datetime(2026, 3, 28, 23, tzinfo=UTC)
