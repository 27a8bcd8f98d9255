"""The names of the tables, by whether their rows belong to an organization; of all that a statement may name."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from sqlmodel import SQLModel

from storage.search_index import ENTRIES, FULL_TEXT_TABLE
from storage.tables import TABLES, load

FULL_TEXT = {FULL_TEXT_TABLE: (ENTRIES, "words")}
"""Indexes with no key of their own: pinned where their rowid is this column of this table, which is pinned."""


def table_names(words: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The tables of organizations and those of the directory, among them all that are named by one of the words.

    Whatever a process has loaded of the tables, each that a statement names is known before it is judged.
    """
    for name in TABLES.keys() & set(words):
        load(name)
    return _loaded_names(len(SQLModel.metadata.tables))


@lru_cache(maxsize=1)
def _loaded_names(_number: int) -> tuple[frozenset[str], frozenset[str]]:
    """What is loaded now, known by how many tables that are."""
    from_models = {m.__tablename__: getattr(m, "tenant", False) for m in _models(SQLModel)}
    tenant = frozenset(str(name) for name, is_tenant in from_models.items() if is_tenant) | FULL_TEXT.keys()
    return tenant, frozenset(map(str, from_models)) - tenant


def _models(base: type[SQLModel]) -> Iterator[type[SQLModel]]:
    for model in base.__subclasses__():
        if hasattr(model, "__table__"):
            yield model
        yield from _models(model)
