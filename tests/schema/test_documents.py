"""The document cache: sized in bytes of text, by use, right after eviction, and told in /metrics (148 and 150)."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from graphql import DocumentNode, GraphQLSchema, GraphQLSyntaxError

from contract.limits import DOCUMENT_CACHE_BYTES, VARIANTS_MAX
from gateway.observability.metrics import DOCUMENT_CACHE, Sampled
from gateway.settings import Settings
from gateway.shown_settings import variable_of
from schema.execution import documents as module
from schema.execution import parsing
from schema.execution.documents import ENTRY_BYTES, PARSED_PART, Document, Documents, Refused
from tests.support.schemas import built


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    return built().graphql


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many documents were parsed and validated."""
    done = {"parse": 0, "validate": 0}

    def counted(place: Any, name: str) -> Any:
        original = getattr(place, name)

        def work(*args: Any, **kwargs: Any) -> Any:
            done[name] += 1
            return original(*args, **kwargs)

        return work

    for place, name in ((parsing, "parse"), (module, "validate")):
        monkeypatch.setattr(place, name, counted(place, name))
    return done


def text(number: int, length: int = 0) -> str:
    return f"query Q{number:05} {{ deals(first: 1) {{ nodes {{ id name }} }} }}".ljust(length)


def test_it_is_sized_by_a_setting() -> None:
    settings = Settings(_env_file=None)
    assert settings.document_cache_bytes == DOCUMENT_CACHE_BYTES == 8 * 1024 * 1024
    assert variable_of("document_cache_bytes") == "CRM_DOCUMENT_CACHE_BYTES"


def test_bytes_of_text_are_bounded_and_the_longest_unused_go_first(schema: GraphQLSchema, work: dict[str, int]) -> None:
    documents = Documents(schema, most=10 * (1_000 + ENTRY_BYTES))
    for number in range(15):
        documents.prepare(text(number, 1_000))
    assert len(documents.texts) == 10
    assert documents.texts.used == 10 * (1_000 + ENTRY_BYTES)
    work.update(parse=0, validate=0)
    for number in range(5, 15):
        assert documents.prepare(text(number, 1_000)).operation(None) is not None
    assert work["validate"] == 0
    documents.prepare(text(0, 1_000))
    assert work["validate"] == 1


def test_letters_count_as_their_bytes(schema: GraphQLSchema) -> None:
    documents = Documents(schema)
    documents.prepare("{ viewer { name } } #" + "é" * 500)
    assert documents.texts.used == 21 + 1_000 + ENTRY_BYTES


def test_a_flood_of_new_texts_pushes_out_nobody_s(schema: GraphQLSchema, work: dict[str, int]) -> None:
    documents = Documents(schema, most=40 * PARSED_PART * (64 + ENTRY_BYTES))
    used = [text(number) for number in range(20)]
    for _ in range(2):
        for one in used:
            documents.prepare(one)
    for number in range(100, 1_500):
        documents.prepare(text(number))
    work.update(parse=0, validate=0)
    for one in used:
        documents.prepare(one)
    assert work == {"parse": 0, "validate": 0}


def test_what_is_parsed_is_a_sixteenth_and_the_rest_is_parsed_again_without_validation(
    schema: GraphQLSchema, work: dict[str, int]
) -> None:
    """A document takes up to a hundred times its text in memory: what is dropped is gone."""
    documents = Documents(schema, most=32 * PARSED_PART * (64 + ENTRY_BYTES))
    living: list[weakref.ref[DocumentNode]] = []
    for number in range(300):
        document = documents.prepare(text(number))
        assert isinstance(document, Document)
        living.append(weakref.ref(document.outline.document))
    del document
    gc.collect()
    assert len(documents.texts) == 300
    assert sum(one() is not None for one in living) == len(documents.parsed) <= 35
    work.update(parse=0, validate=0)
    assert documents.prepare(text(0)).operation(None) is not None
    assert work == {"parse": 1, "validate": 0}


def test_variants_weigh_as_much_as_the_document(schema: GraphQLSchema) -> None:
    documents = Documents(schema)
    query = "query($a: Boolean!) { viewer { name @include(if: $a) } }"
    document = documents.prepare(query)
    assert isinstance(document, Document)
    alone = documents.parsed.used
    for number in range(VARIANTS_MAX + 5):
        assert document.keeps((bool(number),) * number) is (number < VARIANTS_MAX)
    assert documents.parsed.used == VARIANTS_MAX * alone
    assert documents.prepare(query) is document


@pytest.mark.parametrize("wrong", ["{", "{ none }", "{ ...A } fragment A on Query { ...A }", "{ a" * 200, "#" * 40_000])
def test_what_is_wrong_is_told_alike_from_memory_and_after_eviction(schema: GraphQLSchema, wrong: str) -> None:
    documents = Documents(schema, most=3 * (40_100 + ENTRY_BYTES))
    told = []
    for _ in range(2):
        for _ in range(2):
            refused = documents.prepare(wrong)
            assert isinstance(refused, Refused)
            assert refused.operation(None) is None
            told.append([(e.message, e.locations, type(e), type(e.original_error)) for e in refused.errors])
            assert all(e.nodes is None and e.__traceback__ is None for e in refused.errors)
        documents.texts.clear()
    assert told[0]
    assert told == [told[0]] * 4


@pytest.mark.parametrize(
    ("text", "most", "is_too_long"),
    [
        ("{ a b c }", 5, False),
        ("{ a b c }", 4, True),
        ("{ a # b\n }", 3, True),
        ("{ a } }", 3, True),
        ("{ a } }", 4, False),
        ("{ a ? b c d }", 3, False),
        ("{ a", 2, False),
    ],
)
def test_a_text_of_too_many_tokens_is_told_from_one_that_is_wrong(text: str, most: int, is_too_long: bool) -> None:
    try:
        parsing.parsed(text, most)
    except parsing.TooManyTokens:
        assert is_too_long
    except GraphQLSyntaxError:
        assert not is_too_long
    else:
        assert not is_too_long


def test_registered_documents_stay(schema: GraphQLSchema, work: dict[str, int]) -> None:
    registered = [text(number) for number in range(3)]
    documents = Documents(schema, most=1_000, registered=registered)
    first = [documents.prepare(one) for one in registered]
    for number in range(100, 200):
        documents.prepare(text(number))
    work.update(parse=0, validate=0)
    assert [documents.prepare(one) for one in registered] == first
    assert work == {"parse": 0, "validate": 0}
    assert documents.registered(text(100)) is None


def test_without_room_every_document_is_read_anew(schema: GraphQLSchema, work: dict[str, int]) -> None:
    documents = Documents(schema, most=0)
    for _ in range(3):
        assert documents.prepare(text(1)).operation(None) is not None
    assert work == {"parse": 3, "validate": 3}
    assert len(documents.texts) == len(documents.parsed) == 0


def test_places_in_errors_need_no_tokens(schema: GraphQLSchema) -> None:
    operation = Documents(schema).prepare("{\n  viewer { name } }").operation(None)
    assert operation is not None
    [field] = operation.node.selection_set.selections
    assert field.loc is not None
    assert field.loc.start_token is None
    assert module.GraphQLError("x", field).locations == [(2, 3)]


def test_hits_and_misses_are_counted(schema: GraphQLSchema) -> None:
    documents, sampled = Documents(schema), Sampled()

    def told() -> list[float]:
        sampled.cache(DOCUMENT_CACHE, documents.texts)
        return [metric._value.get() for metric in DOCUMENT_CACHE]

    hits, misses, _, _ = told()
    for number in (1, 2, 1, 1):
        documents.prepare(text(number))
    assert told() == [hits + 2, misses + 2, 2, documents.texts.used]
    assert told() == [hits + 2, misses + 2, 2, documents.texts.used]
