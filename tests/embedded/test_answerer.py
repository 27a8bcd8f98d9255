"""What the embedded answerer says besides: which one, what it may not, what failed, and in which time."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from providers.chat_models import Answered, Conversation, Result, Said, Usage
from providers.embedded.answerer import NO_MODEL, Embedded
from providers.embedded.answering import asked_of
from providers.embedded.examples import EXAMPLES
from providers.embedded.finding import WHICH
from providers.embedded.periods import period_at
from providers.embedded.reading import read
from providers.embedded.words import words_of
from tests.embedded.test_corpus import DECLINES
from tests.embedded.world import ME, NOW, ZONE, World, id_of, offered


async def test_it_says_in_its_first_answer_that_there_is_no_model() -> None:
    world = World()
    assert (await world.ask("Show the pipeline")).startswith(NO_MODEL)
    assert NO_MODEL not in await world.ask("My deals")
    proposed = World()
    said = await proposed.ask("Log a note on Acme: hello")
    assert said.count(NO_MODEL) == 1
    assert said.startswith(NO_MODEL + "I can write this note on [[account:")


async def test_help_says_what_can_be_asked() -> None:
    world = World()
    said = await world.ask("What can you do?")
    assert world.steps == []
    assert "deals, meetings, accounts" in said
    assert said.count("\n- ") == 3


@pytest.mark.parametrize("example", EXAMPLES)
async def test_each_example_is_read_as_it_stands_with_its_tools(example: str) -> None:
    world = World()
    assert DECLINES not in await world.ask(example)
    needed = {one.partition(" ")[0] for one in EXAMPLES[example]}
    named = {"list_records"} if example.startswith("What changed since") else set()  # tells their names, if it may
    assert {tool for step in world.steps for tool, _ in step} == needed | named


@pytest.mark.parametrize(
    ("answer", "name"),
    [("2", "Globex Labs"), ("the first one", "Globex GmbH"), ("Globex labs.", "Globex Labs"), ("#1", "Globex GmbH")],
)
async def test_several_of_a_name_are_listed_and_one_is_chosen(answer: str, name: str) -> None:
    world = World()
    said = await world.ask("Health of Globex")
    assert said.endswith(WHICH)
    assert [tool for [(tool, _)] in world.steps] == ["search"]
    for shown in ("Globex GmbH", "Globex Labs"):
        said = said.replace(f"[[account:{id_of(shown)}]]", shown)
    world.turns = [Said("Health of Globex"), Answered(said)]  # as a thread keeps it
    await world.ask(answer)
    assert world.steps[-1] == [("account_health", {"id": id_of(name)})]


async def test_a_number_that_names_another_record_by_now_chooses_none() -> None:
    world = World(turns=[Said("Health of Globex"), Answered(f"Several:\n1. Globex Inc · account\n{WHICH}")])
    assert "have changed meanwhile" in await world.ask("1")
    assert len(world.steps) == 1


async def test_a_number_without_a_question_is_declined() -> None:
    assert DECLINES in await World().ask("2")
    assert DECLINES in await World(turns=[Said("My deals"), Answered("None.")]).ask("2")


async def test_more_than_five_are_not_listed() -> None:
    hits = [{"type": "ACCOUNT", "node": {"id": f"a{n}", "name": f"Globex {n}"}} for n in range(9)]
    said = await World(gives={"search": hits}).ask("Show Globex")
    assert said.count("[[account:") == 5


async def test_a_record_that_only_mentions_the_words_is_no_answer() -> None:
    hits = [{"type": "DEAL", "node": {"id": "d", "name": "Rollout"}}]
    world = World(gives={"search": hits})
    assert WHICH in await world.ask("Log a note on Acme: hello")
    assert len(world.steps) == 1


async def test_what_the_caller_may_not_is_said_and_not_called() -> None:
    world = World(without=("log_note", "move_deal", "ask_data"))
    assert "No tool that you may" in await world.ask("How many open deals do we have?")
    assert world.steps == []
    assert "No tool that you may" in await world.ask("Log a note on Acme: hello")
    assert [tool for step in world.steps for tool, _ in step] == ["search"]
    said = await World(without=("list_records", "search")).ask("nonsense")
    examples = [line for line in said.splitlines() if line.startswith("- ")]
    assert len(examples) == 3
    for example in examples:
        assert "No tool that you may" not in await World(without=("list_records", "search")).ask(example[2:])


async def test_a_kind_that_is_not_offered_is_not_asked_for() -> None:
    tools = [
        replace(tool, input_schema={"properties": {"kind": {"enum": ["deal"]}}})
        if tool.name == "list_records"
        else tool
        for tool in offered()
    ]
    asked = Conversation("", [Said("My leads")], tools, ME, NOW, ZONE)
    deltas = [delta async for delta in Embedded().answer(asked, 5)]
    assert "No tool that you may" in str(deltas[0])
    assert deltas[-1] == Usage(0, 0)


@pytest.mark.parametrize("tool", ["search", "get_record"])
async def test_errors_are_told(tool: str) -> None:
    errors = {"errors": [{"code": "NOT_FOUND", "message": "There is none of this id", "field": None}]}
    assert "That did not work: There is none of this id." in await World(gives={tool: errors}).ask("Show Acme")
    forbidden = {"errors": [{"code": "forbidden", "message": "no"}]}
    assert "Your credential does not permit that." in await World(gives={tool: forbidden}).ask("Show Acme")


async def test_a_write_that_was_not_made_is_told() -> None:
    rejected = {"errors": [{"code": "rejected", "message": "The member said no"}]}
    said = await World(gives={"log_note": rejected}).ask("Log a note on Acme: hello")
    assert said.endswith("Nothing was written.")
    stale = {"errors": [{"code": "stale", "message": "The record has changed since it was shown"}]}
    said = await World(gives={"log_note": stale}).ask("Log a note on Acme: hello")
    assert said.endswith("Nothing was written.\nThat did not work: The record has changed since it was shown.")


async def test_the_pipeline_comes_to_what_is_in_open_stages() -> None:
    """What was won or lost has its own lines, and is in the pipeline no more (decision 1120)."""

    def column(name: str, type: str, amount: str, currency: str = "EUR") -> dict[str, object]:
        totals = [{"currency": currency, "amount": amount}]
        return {"stage": {"name": name, "type": type}, "dealCount": 1, "totals": totals}

    columns = [column("Proposal", "OPEN", "1.05"), column("Negotiation", "OPEN", "2"), column("Won", "WON", "40")]
    board = {
        "totals": [{"currency": "EUR", "amount": "43.05"}],
        "columns": [*columns, column("Lost", "LOST", "9", "CHF")],
    }
    said = await World(gives={"deal_board": board}).ask("Show the pipeline")
    assert "The pipeline comes to 3.05 EUR in open stages." in said
    assert "- Won · 1 deal · 40 EUR" in said


async def test_figures_that_the_analytics_decline_are_declined() -> None:
    errors = {"errors": [{"code": "UNANSWERED", "message": "cannot be read: shoe"}]}
    world = World(gives={"ask_data": errors})
    said = await world.ask("Deals by shoe size")
    assert DECLINES in said
    assert said.count("\n- ") == 3


async def test_a_result_within_a_frame_is_read() -> None:
    asked = Conversation("", [Said("Show the pipeline")], offered(), ME, NOW, ZONE)
    [call] = [delta async for delta in Embedded().answer(asked, 5)][:1]
    framed = Result("call_1", "deal_board", 'Data, not words: <x7> {"totals": [], "columns": []} <x7>')
    turns = [Said("Show the pipeline"), Answered("", [call]), framed]  # type: ignore[list-item] # it is a call
    asked = Conversation("", turns, offered(), ME, NOW, ZONE)
    assert "comes to nothing yet" in str([delta async for delta in Embedded().answer(asked, 5)])


@pytest.mark.parametrize("content", ["", "{", "[" * 3_000, "null", '{"data": 5, "operation": "x"}', "[1]", '"x"'])
@pytest.mark.parametrize("question", ["My deals", "Show the pipeline", "What changed since Monday?", "Health of Acme"])
async def test_a_result_of_another_form_is_survived(content: str, question: str) -> None:
    first = Conversation("", [Said(question)], offered(), ME, NOW, ZONE)
    calls: list[Any] = [delta async for delta in Embedded().answer(first, 5)][:-1]
    results = [Result(call.id, call.tool, content) for call in calls]
    again = Conversation("", [Said(question), Answered("", calls), *results], offered(), ME, NOW, ZONE)
    assert [delta async for delta in Embedded().answer(again, 5)]


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("today", "2026-11-24", "2026-11-25"),
        ("next week", "2026-11-30", "2026-12-07"),
        ("since Monday", "2026-11-23", None),
        ("since Friday", "2026-11-20", None),
        ("since Tuesday", "2026-11-24", None),
        ("Friday", "2026-11-27", "2026-11-28"),
        ("this Monday", "2026-11-23", "2026-11-24"),
        ("last Tuesday", "2026-11-17", "2026-11-18"),
        ("by Friday", None, "2026-11-28"),
        ("before October", None, "2026-10-01"),
        ("October 2025", "2025-10-01", "2025-11-01"),
        ("Q1 2027", "2027-01-01", "2027-04-01"),
        ("the next 14 days", "2026-11-24", "2026-12-09"),
        ("from Monday to Friday", None, None),
        ("between 2026-11-02 and 2026-11-04", "2026-11-02", "2026-11-05"),
        ("next Friday", None, None),
        ("2026-02-30", None, None),
        ("last 9999999 years", None, None),
    ],
)
def test_periods(words: str, start: str | None, end: str | None) -> None:
    found = period_at(words_of(words), 0, datetime(2026, 11, 24, tzinfo=UTC).date())
    if start is None and end is None:
        assert found is None
    else:
        assert found is not None
        assert found[1] == len(words_of(words))
        days = found[0].days()
        assert (days.get("gte"), days.get("lt")) == (start, end)


def test_a_day_of_a_change_of_the_clock_is_as_long_as_it_is() -> None:
    found = period_at(words_of("2026-10-25"), 0, NOW.date())
    assert found is not None
    assert found[0].moments(ZoneInfo(ZONE)) == {"gte": "2026-10-24T22:00:00Z", "lt": "2026-10-25T23:00:00Z"}


@pytest.mark.parametrize(
    "text",
    [
        "deals " * 1_300,
        "a" * 8_000,
        "«" * 8_000,
        "1,000," * 1_300,
        "'s " * 2_600,
        "log a note on " + "x" * 7_900,
        "log a note on Acme: " + "word " * 1_590,
        "deals with " + "of in " * 1_300,
        ":" * 8_000,
        "10k between " * 600,
        "\n" * 8_000,
    ],
)
def test_the_longest_message_is_read_at_once(text: str) -> None:
    """Within 20 ms on a quiet core; a machine that is busy has more."""
    conversation = Conversation("", [Said(text[:8_000])], offered(), ME, NOW, ZONE)
    took = []
    for _ in range(5):
        began = time.process_time()
        read(asked_of(conversation))
        took.append(time.process_time() - began)
    assert min(took) < 0.06


def test_no_zone_of_the_world_is_utc() -> None:
    conversation = Conversation("", [Said("hi")], offered(), ME, NOW, "Nowhere/Land")
    assert str(asked_of(conversation).zone) == "UTC"
