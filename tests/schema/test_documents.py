"""The document cache: sized in bytes of text, by use, right after eviction, and told in /metrics (148 and 150)."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from graphql import DocumentNode, GraphQLSchema

from contract.limits import DOCUMENT_CACHE_BYTES, VARIANTS_MAX
from gateway.observability.metrics import DOCUMENT_CACHE, Sampled
from gateway.settings import Settings
from schema.build import build
from schema.execution import documents as module
from schema.execution.documents import ENTRY_BYTES, PARSED_PART, Documents


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    return build().graphql


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many documents were parsed and validated."""
    done = {"parse": 0, "validate": 0}

    def counted(name: str) -> Any:
        original = getattr(module, name)

        def work(*args: Any, **kwargs: Any) -> Any:
            done[name] += 1
            return original(*args, **kwargs)

        return work

    for name in done:
        monkeypatch.setattr(module, name, counted(name))
    return done


def text(number: int, length: int = 0) -> str:
    return f"query Q{number:05} {{ deals(first: 1) {{ nodes {{ id name }} }} }}".ljust(length)


def test_it_is_sized_by_a_setting() -> None:
    settings = Settings(_env_file=None)
    assert settings.document_cache_bytes == DOCUMENT_CACHE_BYTES == 8 * 1024 * 1024
    assert Settings.model_fields["document_cache_bytes"].validation_alias == "CRM_DOCUMENT_CACHE_BYTES"


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
        document = documents.prepare(text(number)).document
        assert document is not None
        living.append(weakref.ref(document))
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
    prepared = documents.prepare(query)
    alone = documents.parsed.used
    for number in range(VARIANTS_MAX + 5):
        assert prepared.keeps((number,)) is (number < VARIANTS_MAX)
    assert documents.parsed.used == VARIANTS_MAX * alone
    assert documents.prepare(query) is prepared


@pytest.mark.parametrize("wrong", ["{", "{ none }", "{ ...A } fragment A on Query { ...A }", "{ a" * 200, "#" * 40_000])
def test_what_is_wrong_is_told_alike_from_memory_and_after_eviction(schema: GraphQLSchema, wrong: str) -> None:
    documents = Documents(schema, most=3 * (40_100 + ENTRY_BYTES))
    told = []
    for _ in range(2):
        for _ in range(2):
            prepared = documents.prepare(wrong)
            assert prepared.document is None
            assert prepared.operation(None) is None
            told.append([(e.message, e.locations, type(e), type(e.original_error)) for e in prepared.errors])
            assert all(e.nodes is None and e.__traceback__ is None for e in prepared.errors)
        documents.texts.clear()
    assert told[0]
    assert told == [told[0]] * 4


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
    prepared = Documents(schema).prepare("{\n  viewer { name } }")
    operation = prepared.operation(None)
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
