"""Answers a conversation by the grammar, step by step; each is worked out from the conversation anew."""

from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from providers.chat_models import Answered, Call, Conversation, Delta, Result, Said, Text, Turn, Usage
from providers.embedded.answerer import NO_MODEL
from providers.embedded.examples import CAN, nearest
from providers.embedded.reading import Read, question_of, read
from providers.embedded.steps import Asked, Lines, Outcome, Plan, Request, Step, outcome_of
from providers.embedded.words import words_of


def deltas(conversation: Conversation) -> Iterator[Delta]:
    """One step: calls of tools, or the answer's lines."""
    is_first = not any(isinstance(turn, Answered) and turn.text for turn in conversation.turns)
    asked = asked_of(conversation)
    step = _next(asked, read(asked), _outcomes(conversation.turns))
    if isinstance(step, Step):
        said, calls = step.text, _calls(conversation.turns, step)
    else:
        said, calls = "\n".join(step), []
    if said:
        yield Text((NO_MODEL if is_first else "") + said.split("\n", 1)[0])
        yield from (Text(f"\n{line}") for line in said.split("\n")[1:])
    yield from calls
    yield Usage(0, 0)


def asked_of(conversation: Conversation) -> Asked:
    """The question of a conversation."""
    text, pick = question_of(conversation.turns)
    try:
        zone = ZoneInfo(conversation.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    tools = {tool.name: tool for tool in conversation.tools}
    return Asked(text, words_of(text), conversation.subject, conversation.now, zone, tools, pick)


def _of_run(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns since the question."""
    at = max((place for place, turn in enumerate(turns) if isinstance(turn, Said)), default=-1)
    return turns[at + 1 :]


def _outcomes(turns: Sequence[Turn]) -> list[list[Outcome]]:
    """Collect the outcomes of each step's calls; one without a result gave nothing."""
    found: list[list[Outcome]] = []
    results = {turn.call_id: outcome_of(turn) for turn in _of_run(turns) if isinstance(turn, Result)}
    for turn in _of_run(turns):
        if isinstance(turn, Answered) and turn.calls:
            found.append([results.get(call.id, Outcome(False)) for call in turn.calls])
    return found


def _calls(turns: Sequence[Turn], step: Step) -> list[Call]:
    made = sum(len(turn.calls) for turn in _of_run(turns) if isinstance(turn, Answered))
    return [Call(f"call_{made + at}", one.tool, one.arguments) for at, one in enumerate(step.requests, 1)]


def _next(asked: Asked, found: Read, outcomes: Sequence[Sequence[Outcome]]) -> Step | Lines:
    """The step behind those that have outcomes, or what is said in the end."""
    if found.plan is None:
        return _help(asked) if found.is_help else _declined(asked, found.why)
    plan: Plan = found.plan
    try:
        step = next(plan)
        for given in outcomes:
            if len(given) != len(step.requests):
                return ["The answer was cut off; please ask again."]
            step = plan.send(given)
    except StopIteration as end:
        lines: Lines = end.value
        return lines or _declined(asked, "")
    if not all(asked.may(request) for request in step.requests):
        return ["No tool that you may use here does that."]
    return step


def _help(asked: Asked) -> Lines:
    return [CAN, "Such as:", *(f"- {question}" for question in _examples(asked))]


def _declined(asked: Asked, why: str) -> Lines:
    said = "I cannot answer that" + (f": {why.rstrip('.')}." if why else ".")
    return [said, CAN, "Closest to it I can answer:", *(f"- {question}" for question in _examples(asked))]


def _examples(asked: Asked) -> Sequence[str]:
    """Three questions that are nearest, and that this caller may ask."""

    def may(tool: str, kind: str) -> bool:
        return asked.may(Request(tool, {"kind": kind} if kind else {}))

    return nearest(asked.words, may)
