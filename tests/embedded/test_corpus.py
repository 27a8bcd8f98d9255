"""The questions of the embedded answerer: exactly their calls, or declined, and never a guess (decision 352)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.corpus import CASES, DECLINED, Case
from tests.embedded.world import World, filled

DECLINES = "I cannot answer that"


def expected(case: Case, text: str) -> list[list[tuple[str, dict[str, Any]]]]:
    steps: list[list[tuple[str, dict[str, Any]]]] = filled([[list(call) for call in step] for step in case.steps])
    for step in steps:
        for at, (tool, arguments) in enumerate(step):
            step[at] = (tool, {"question": text} if tool == "ask_data" else arguments)
    return steps


def test_there_are_so_many() -> None:
    assert (len(CASES), len(DECLINED)) == (60, 40)
    paraphrases = [text for case in CASES for text in case.paraphrases]
    assert len({*paraphrases, *(case.question for case in CASES)}) == 240


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.question)
async def test_each_question_makes_exactly_its_calls(case: Case) -> None:
    world = World()
    said = await world.ask(case.question)
    assert DECLINES not in said
    assert world.steps == expected(case, case.question)


async def test_paraphrases_are_answered_alike_or_declined() -> None:
    declined = []
    for case in CASES:
        for text in case.paraphrases:
            world = World()
            said = await world.ask(text)
            if DECLINES in said:
                declined.append(text)
                assert world.steps == [], text
            else:
                assert world.steps == expected(case, text), text
    print(declined)
    assert len(declined) <= 27, declined  # 15 of 100


@pytest.mark.parametrize("text", DECLINED)
async def test_what_cannot_be_answered_is_declined_with_three_that_can(text: str) -> None:
    world = World()
    said = await world.ask(text)
    assert DECLINES in said
    assert world.steps == []
    examples = [line[2:] for line in said.splitlines() if line.startswith("- ")]
    assert len(examples) == 3
    for example in examples:
        assert DECLINES not in await World().ask(example)
