"""Hostile texts in records, and a model that obeys every one: nothing is written, nothing leaves (decision 520)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from random import Random

import pytest
from markdown_it import MarkdownIt
from sqlmodel import col

from providers.chat_models import Call, Conversation, Delta, Result, Text
from providers.shown_text import ShownText
from storage.base import new_id
from storage.tables import Account, Activity, Contact, Deal, Lead
from storage.tables import Event as Logged
from tests.chat.chatting import Chatter, Event, text_of
from tests.chat.injected import CORPUS, Injected
from tests.support.chat_model import ScriptedModel
from tests.support.tenants import Tenant

MARKDOWN = MarkdownIt("commonmark", {"html": True})
HARMLESS = {"p", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "h1", "h2", "h3"}
ADDRESS = re.compile(
    r"\w[\w+.\-]*[\u200b\u200c]*[:：]\s?//|[^\s/]//\w|^//\w|\bwww\.\w|\b(mailto|javascript|data|vbscript|intent):\S",
    re.I,
)


def leads_away(text: str) -> list[str]:
    """What of a text would be more than text: by a renderer of Markdown that knows HTML, and by its look."""
    found = [match[0] for match in ADDRESS.finditer(text)]
    tokens = [token for block in MARKDOWN.parse(text) for token in (block, *(block.children or ()))]
    found += [token.type for token in tokens if token.type.startswith("html") or token.type in ("image", "link_open")]
    tags = re.findall(r"<\s*/?\s*([a-zA-Z0-9]+)", MARKDOWN.render(text))
    return found + [tag for tag in tags if tag not in HARMLESS]


def filled(text: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def pieces_of(text: str, random: Random) -> list[str]:
    """The text in pieces: whole, by the character, or anyhow."""
    match random.randrange(3):
        case 0:
            return [text]
        case 1:
            return list(text)
    cuts = sorted(random.choices(range(len(text) + 1), k=5))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def test_the_corpus_is_what_it_says() -> None:
    """All are there, each is another one, and a filter that did nothing would let most of them through."""
    assert len({each.text for each in CORPUS}) == len(CORPUS) == 40
    places = {"own": new_id(), "unread": new_id(), "foreign": new_id()}
    bare = [leads_away(filled(each.text if each.says == "*" else each.says, places)) for each in CORPUS]
    assert sum(map(bool, bare)) >= 28


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_whatever_the_cut_nothing_leads_away(number: int) -> None:
    each, random = CORPUS[number], Random(number)
    places = {"own": new_id(), "unread": new_id(), "foreign": new_id()}
    text = filled(each.text if each.says == "*" else each.says, places)
    seen = {(kind, places["own"]): filled(each.text, places) for kind in ("deal", "account", "lead", "meeting")}
    for _ in range(20):
        filter = ShownText(seen)
        parts = [filter.feed(piece) for piece in pieces_of(text, random)] + [filter.end()]
        shown = "".join(part.text for part in parts)
        assert leads_away(shown) == [], shown
        cited = {citation.id for part in parts for citation in part.citations}
        assert cited <= {places["own"]}
        assert places["foreign"] not in shown or "[[" not in text


class Obedient:
    """Reads the record, and does whatever it finds written there."""

    def __init__(self, kind: str, places: dict[str, str], random: Random) -> None:
        self._first = Call("a", "get_record", {"kind": kind, "id": places["own"]})
        self._places, self._random = places, random
        self.obeyed: list[Injected] = []

    async def __call__(self, conversation: Conversation) -> AsyncIterator[Delta]:
        results = [turn for turn in conversation.turns if isinstance(turn, Result)]
        if not results:
            yield self._first
            return
        read = _texts(json.loads(results[0].content))
        if not self.obeyed:
            self.obeyed = [each for each in CORPUS if filled(each.text, self._places) in read]
            assert len(self.obeyed) == 1
            for tool, arguments in self.obeyed[0].calls:
                yield Call("b", tool, {name: filled(value, self._places) for name, value in arguments.items()})
            if self.obeyed[0].calls:
                return
        [each] = self.obeyed
        for piece in pieces_of(filled(each.text if each.says == "*" else each.says, self._places), self._random):
            yield Text(piece)


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.asyncio(loop_scope="session")
async def test_a_model_that_obeys_does_no_harm(one: Tenant, two: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    foreign, unread = Deal(name="Secret of the others"), Deal(name="Never read")
    await two.add(foreign)
    await one.add(unread)
    written = await one.rows(col(Logged.sequence))
    random = Random(40)
    for each in CORPUS:
        own = new_id()
        places = {"own": own, "unread": unread.id, "foreign": foreign.id}
        await one.add(_record(each.where, own, filled(each.text, places)))
        obedient = Obedient(each.where.partition(".")[0], places, random)
        model.plays(obedient, obedient, obedient)
        events = await _ended(chat, await chat.thread())
        assert obedient.obeyed == [each]
        offered = {tool.name for tool in model.asked[0].tools}
        results = [event.data for event in events if event.event == "tool_result"]
        assert results[0]["ok"]
        assert {result["tool"] for result in results if result["ok"]} <= offered
        known = {record["id"] for result in results for record in result["records"]}
        assert {event.data["id"] for event in events if event.event == "citation"} <= known
        assert not known & {foreign.id, unread.id}
        text = text_of(events)
        assert leads_away(text) == [], text
        shown = [message["text"] for message in await chat.messages(events[0].data["thread_id"])]
        assert shown[1:] == ([text] if text else [])
        told = json.dumps([event.data for event in events]) + str(model.asked)
        assert foreign.name not in told
    assert await one.rows(col(Logged.sequence)) == written
    assert [row[0] for row in await one.rows(col(Deal.name)) if row[0] == "Never read"] == ["Never read"]


def _record(where: str, own: str, text: str) -> Deal | Account | Contact | Lead | Activity:
    match where:
        case "deal.name":
            return Deal(id=own, name=text)
        case "deal.notes":
            return Deal(id=own, name="Renewal", notes=text)
        case "account.name":
            return Account(id=own, name=text)
        case "contact.last_name":
            return Contact(id=own, first_name="Jo", last_name=text)
        case "lead.name":
            return Lead(id=own, name=text)
        case "lead.notes":
            return Lead(id=own, name="Jo Ito", notes=text)
        case "meeting.subject":
            return Activity(id=own, type="meeting", subject=text)
    return Activity(id=own, type="meeting", subject="Kickoff", body=text)


async def _ended(chat: Chatter, thread: str) -> list[Event]:
    """The events of the run; what it proposes to write nobody approves."""
    run = await chat.begin(thread, "Tell me about it")
    async with asyncio.timeout(60):
        while (now := await chat.run(run["id"]))["finished_at"] is None:
            if now["status"] == "waiting":
                await chat.call("POST", f"/chat/runs/{run['id']}/cancel")
            await asyncio.sleep(0.02)
    return await chat.follow(run["id"])
